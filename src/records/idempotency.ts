import { createHash } from 'node:crypto';
import { eq, lt } from '#drizzle/orm.ts';
import { idempotencyKeys } from '#drizzle/tables/service/idempotencyKeys.ts';
import type { Context } from '#src/access/context.ts';
import { need } from '#src/access/need.ts';
import { conflict } from '#src/core/conflicts.ts';
import { AppError, refusal } from '#src/core/errors.ts';
import { orm } from '#src/database/connection.ts';
import { isLockedOut, LockedOut } from '#src/database/databaseErrors.ts';
import { deleteBatch } from '#src/database/statements/deleteBatch.ts';
import { oneAtATime } from '#src/database/turns.ts';
import { inTransaction, write } from '#src/database/write.ts';

/** A request that takes effect once, however often it arrives. */
export interface KeyedRequest {
  key: string;
  /** A hash of everything in which two requests can differ. */
  fingerprint: string;
}

/** Waits for a place, does the work in it, and gives it back. */
export type Place = <T>(work: () => Promise<T>) => Promise<T>;

/** The response to the first arrival of a request. */
export type Answer = Pick<typeof idempotencyKeys.$inferSelect, 'status' | 'location' | 'body'>;

export const keyRetentionDays = 1;
/** Bytes of an answer that are charged as one more request: long answers, kept for a day, could fill the disk. */
const bytesPerCharge = 16 * 1024;
const keyRetention = keyRetentionDays * 24 * 3_600_000;

/**
 * Does the work and keeps its answer, in one transaction; or returns the answer of the first arrival. Only a success is
 * kept: a request that failed has changed nothing, so it can be sent again with the same key.
 */
export async function withIdempotencyKey(
  context: Context,
  request: KeyedRequest,
  work: (inside: Context) => Promise<Answer>,
  inPlace: Place = work => work(),
): Promise<Answer & { replayed: boolean }> {
  need(context, 'write or own');
  const hash = hashKey(context, request.key);
  async function attempt(inside: Context) {
    const isFirst = await takeKey(inside, hash, request.fingerprint).catch(error => {
      throw isLockedOut(error) ? new LockedOut(hash) : error;
    });
    if (!isFirst) return { ...(await storedAnswer(inside, hash, request.fingerprint)), replayed: true };
    const answer = await work(inside);
    const extraPoints = Math.floor(Buffer.byteLength(answer.body) / bytesPerCharge);
    if (extraPoints > 0) await context.budget?.charge(extraPoints);
    await orm(inside.db).update(idempotencyKeys).set(answer).where(eq(idempotencyKeys.hash, hash));
    return { ...answer, replayed: false };
  }
  try {
    // Waits for the key first: a repetition with a place would keep others waiting.
    const inTurn = (context: Context) => inPlace(() => inTransaction(context, attempt));
    return await write(context, inTurn, { [hash]: oneAtATime });
  } catch (error) {
    // Only a wait for the lock of the key shows that the first request is still running.
    throw error instanceof LockedOut && error.turn === hash ? inProgress() : error;
  }
}

/** Hashes the caller, too: two callers may use the same key. */
const hashKey = ({ actor: { kind, issuer = '', id } }: Context, key: string) =>
  createHash('sha256')
    .update(JSON.stringify([kind, issuer, id, key]))
    .digest('base64url');

/**
 * Inserts a key, or takes it over when it has expired; returns whether it did. It fails as locked out while another
 * transaction holds the key.
 */
async function takeKey({ db, now }: Context, hash: string, fingerprint: string): Promise<boolean> {
  const createdAt = now().toISOString();
  const expiredBefore = new Date(now().getTime() - keyRetention).toISOString();
  const taken = await orm(db)
    .insert(idempotencyKeys)
    .values({ hash, fingerprint, createdAt })
    .onConflictDoUpdate({
      target: idempotencyKeys.hash,
      set: { fingerprint, createdAt },
      setWhere: lt(idempotencyKeys.createdAt, expiredBefore),
    })
    .returning({ hash: idempotencyKeys.hash });
  return taken.length > 0;
}

async function storedAnswer({ db }: Context, hash: string, expected: string): Promise<Answer> {
  const [known] = await orm(db).select().from(idempotencyKeys).where(eq(idempotencyKeys.hash, hash));
  if (known?.fingerprint !== expected) throw keyReused();
  return known;
}

export const inProgress = conflict('idempotency_in_progress', {
  as: 'idempotency_in_progress',
  summary: 'The first request with this key is still running.',
  message: () => 'The first request with this Idempotency-Key is still running.',
  example: { retryAfter: 1 },
});

export const keyReused = refusal('The `Idempotency-Key` was sent with another request.', () => {
  const message = 'This Idempotency-Key was sent with another request. Each request needs a new key.';
  return new AppError('idempotency_key_reused', message);
});

/** Deletes a batch of the keys made before a time; returns how many. */
export async function trimKeys(context: Context, before: Date): Promise<number> {
  need(context, 'admin');
  const { hash, createdAt } = idempotencyKeys;
  const matching = lt(createdAt, before.toISOString());
  return deleteBatch(context.db, { key: hash, matching, order: createdAt });
}
