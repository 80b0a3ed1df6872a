import type { Test } from 'tap';
import type { Settings } from '#schemas/settings.ts';
import type { User } from '#schemas/user.ts';
import { buildApp } from '#src/app.ts';
import { readSettings } from '#src/config/settings.ts';
import { keptIn } from '#src/core/kept.ts';
import { user } from '#src/domain/users.ts';
import type { AnyResource } from '#src/records/resource.ts';
import { domain } from '#test/world/index.ts';
import { type Answer, Contract } from './contract.ts';
import { openTestDatabase, testLog } from './database.ts';
import { makeRecord } from './resources/records.ts';

export interface Call {
  body?: unknown;
  /** Sent as it is, not as JSON. */
  raw?: string | Buffer;
  headers?: Record<string, string>;
}

export type { Answer };

type App = Awaited<ReturnType<typeof buildApp>>;
type Choices = Partial<Omit<Parameters<typeof buildApp>[0], 'settings'>> & { settings?: Partial<Settings> };

const contracts = new WeakMap<object, Map<string, Contract>>();
/** Makes one contract for all applications with the same resources and routes: it takes longer than an application. */
async function contractOf(app: App, { AUTH_MODE }: Settings, followed: object): Promise<Contract> {
  const routes = app.routes.map(({ method, url, config }) => [method, url, config?.scope]);
  const known = keptIn(contracts, followed, () => new Map());
  const key = JSON.stringify([AUTH_MODE, routes]);
  const contract = known.get(key) ?? new Contract((await app.documentWriter()).swagger());
  known.set(key, contract);
  return contract;
}

/** Builds a whole application on a database of its own, closed when the test ends. */
export async function build(
  t: Test,
  { settings = {}, database, domain: world = domain, ...others }: Choices = {},
) {
  const opened = database ?? (await openTestDatabase(t));
  // A busy machine takes seconds for what a test does with thousands of records.
  const defaults = readSettings({ NODE_ENV: 'test', RATE_LIMIT_MAX: '1000000', REQUEST_TIMEOUT: '60' });
  const used = { ...defaults, ...settings };
  const app = await buildApp({
    settings: used,
    database: opened,
    log: testLog,
    domain: world,
    // A limit would mistake a busy machine for an overloaded service.
    maxDelay: Number.POSITIVE_INFINITY,
    ...others,
  });
  t.teardown(() => app.close());
  const contract = await contractOf(app, used, world.followed);

  /** Sends a request; `lie` says how the answer contradicts the served document. */
  async function send(method: string, url: string, { body, raw, headers = {} }: Call = {}) {
    const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const reply = await app.inject({
      method: method as 'GET',
      url,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(payload !== undefined && { payload }),
    });
    const json = reply.headers['content-type']?.toString().includes('json') && reply.body !== '';
    const answer: Answer = {
      body: json ? reply.json() : undefined,
      status: reply.statusCode,
      text: reply.body,
      headers: reply.headers as Record<string, string>,
    };
    return { answer, lie: contract.problem(method, url, answer) };
  }

  /** Sends a request and checks the answer against the expected status and the served document. */
  async function call(method: string, url: string, status: number, options: Call = {}): Promise<Answer> {
    const { answer, lie } = await send(method, url, options);
    if (answer.status !== status)
      t.fail(`${method} ${url} answered ${answer.status}, not ${status}: ${answer.text.slice(0, 500)}`);
    if (lie) t.fail(`${method} ${url} ${answer.status} is not as documented: ${lie}`);
    return answer;
  }

  let made = 0;
  const newUser = async (members: object = {}) => {
    const usual = { name: 'Ada Lovelace', email: `user${++made}@example.com` };
    return (await makeRecord(call, user, { ...usual, ...members })) as User;
  };
  type RecordOf<R extends AnyResource> = R['table']['$inferSelect'];
  /** Creates a record with all its members, and with the parents that it needs. */
  const make = <R extends AnyResource>(resource: R, members: Partial<RecordOf<R>> = {}) =>
    makeRecord(call, resource, members) as Promise<RecordOf<R>>;

  return { app, send, call, newUser, make, database: opened };
}
