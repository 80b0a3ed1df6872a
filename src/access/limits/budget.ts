import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { pageLimit } from '#schemas/parts/lists.ts';
import { AppError, type Limit, tookTooLong, tooMuch } from '#src/core/errors.ts';
import { Shares } from '#src/core/shares.ts';
import type { Connection } from '#src/database/connection.ts';

/** Who an operation works for and who pays for it: a request, or one result of a subscription. */
export interface Payer {
  readonly account: { name: string };
  /** The time, by `performance.now()`, after which nobody waits for the result. */
  readonly deadline: number;
  hasLeft(): boolean;
  /** Counts points, each as a request; fails beyond the limit of the account. Negative points are given back. */
  charge(points: number): Promise<void>;
  /** How many points are left. */
  left(): Promise<number>;
  /** Counts this many points, or as many as are left; returns how many it counted. */
  reserve(points: number): Promise<number>;
  /** Does slow reads on a connection that other reads do not use, one at a time for each account. */
  onCostly<T>(work: (db: Connection) => Promise<T>): Promise<T>;
}

const records: Limit = ['RECORD_LIMIT_EXCEEDED', 'records', 50_000];
const values: Limit = ['RESPONSE_LIMIT_EXCEEDED', 'values in the response', 200_000];
const text: Limit = ['RESPONSE_LIMIT_EXCEEDED', 'bytes in the response', 10_000_000];

/** Results with more values keep the process busy for about ten milliseconds or more. */
const ownTurnAbove = 2500;
const turns = new Shares(1, 1);

const nothing = () => {};

/** Counts what one operation takes while it runs. Nothing further is begun after the first refusal. */
export class Budget {
  readonly payer: Payer;
  /** The points that were charged for records. */
  #charged: number;
  #records = 0;
  #values = 0;
  /** The first refusal. */
  refusal: unknown;
  /** How many values had been counted when `ownTurn` last waited. */
  #before = 0;
  #last: Promise<unknown> | undefined;

  constructor(payer: Payer, charged = 0) {
    [this.payer, this.#charged] = [payer, charged];
  }

  /** Fails after a refusal, and when nobody waits for the result any more. */
  check(): void {
    if (this.refusal) throw this.refusal;
    if (performance.now() > this.payer.deadline || this.payer.hasLeft()) this.#refuse(tookTooLong());
  }

  /**
   * Counts records, totals and empty lists, and their values, each time that they are in the response. One point
   * pays for as many as a page of REST may have. Settles when they are paid for; undefined if they already are.
   */
  spend(count: number, valuesInThem: number): Promise<void> | undefined {
    this.check();
    this.#records += count;
    this.#values += valuesInThem;
    const points = Math.ceil(this.#records / pageLimit.maximum) - this.#charged;
    this.#charged += Math.max(0, points);
    const paid = points > 0 ? this.charge(points) : undefined;
    // Records beyond a limit were read all the same: they are charged, and nobody waits for the charge.
    paid?.catch(nothing);
    this.#keep(records, this.#records);
    this.#keep(values, this.#values);
    return paid;
  }

  charge(points: number): Promise<void> {
    return this.payer.charge(points).catch(error => this.#refuse(error));
  }

  /** Does reads one after the other: parallel reads could each use up the same remainder. */
  inSequence<T>(read: (remaining: number) => Promise<T>): Promise<T> {
    const result = (this.#last ?? Promise.resolve()).then(() => {
      this.check();
      return read(records[2] - this.#records);
    });
    // Not the result: this budget would keep it until the whole heap is collected.
    this.#last = result.then(nothing, nothing);
    return result;
  }

  /**
   * Waits for its own turn of the event loop when many values come next. Other work then gets as much time as that turn
   * took: it needs many turns, because each statement of a transaction needs one.
   */
  async ownTurn({ db }: { db: Connection }): Promise<void> {
    // A transaction that waits would hold a connection that other writes need.
    if (this.#values - this.#before <= ownTurnAbove || db.isTransaction) return;
    this.#before = this.#values;
    const { account, deadline } = this.payer;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const turn = async () => {
      await setImmediate();
      const start = performance.now();
      resolve();
      await setImmediate();
      await sleep(performance.now() - start);
    };
    turns.inTurn(account.name, deadline, turn).catch(reject);
    await promise.catch(error => this.#refuse(error));
  }

  /** Counts the values and characters of a result before it becomes text. One part that is too long refuses all. */
  measure(result: unknown): void {
    const { details } = this.refusal instanceof AppError ? this.refusal : {};
    if (details && 'code' in details && details.code === text[0]) throw this.refusal;
    let [count, length] = [0, 0];
    const add = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) {
        count++;
        length += typeof value === 'string' ? value.length + 3 : 5;
      } else if (Array.isArray(value)) {
        for (const item of value) add(item);
      } else {
        // `Object.keys` is twice as fast as `for in` for objects without a prototype.
        for (const name of Object.keys(value)) {
          length += name.length + 3;
          add(value[name as keyof object]);
        }
        this.#keep(values, count);
        this.#keep(text, length);
      }
    };
    add(result);
  }

  /** Counts the bytes of the text of a result. A unit of UTF-16 takes at most three. */
  measureText(made: string): void {
    if (made.length * 3 > text[2]) this.#keep(text, Buffer.byteLength(made));
  }

  #keep(limit: Limit, value: number): void {
    if (value > limit[2]) this.#refuse(tooMuch(limit, value));
  }

  #refuse(error: unknown): never {
    this.refusal ??= error;
    throw this.refusal;
  }
}
