import { need, scopesOf } from '../../access/need.ts';
import { visible } from '../../access/ownership.ts';
import type { Actor } from '../../core/actor.ts';
import { databaseFailure } from '../../database/databaseErrors.ts';
import { explain } from '../refusals.ts';
import type { Feed } from './feed.ts';
import type { Followed } from './followed.ts';
import type { Change } from './pages.ts';
import { badPosition, type Position, readPosition, type SentPosition, textOf } from './position.ts';

/** Which changes somebody wants. */
export interface Choice {
  resources: Followed[];
  id?: string | undefined;
  /** Members that the record must have, before or after. */
  side: Record<string, unknown>;
}

/** Who follows. */
export interface Follower {
  /** The caller as they are now; fails when they may not read any more. */
  caller: () => Promise<Actor>;
  signal: AbortSignal;
  /** Whether the last page was of the past. */
  isBehind: boolean;
}

/** Changes, and the position after them; or only the position, when there were none for long. */
export interface News {
  changes: Change[];
  position: string;
}

/** Milliseconds. With the time until it is woken, less than 15 seconds: proxies wait for longer. */
const newsEvery = 9500;
const invalidText = '22P02';

/** First the position where it begins, then the changes as they come. */
export async function* follow(
  feed: Feed,
  follower: Follower,
  choice: Choice,
  sent: SentPosition,
): AsyncGenerator<News, void> {
  const { caller, signal } = follower;
  const { resources } = choice;
  need({ actor: await caller() }, (resources.length === 1 && resources[0]?.scope) || 'read or own');
  let woken = Promise.withResolvers<void>();
  const wake = () => woken.resolve();
  const wait = async () => {
    await woken.promise;
    // Before the look that follows, so that a call during it counts.
    woken = Promise.withResolvers();
  };
  signal.addEventListener('abort', wake);
  const leave = feed.join(wake);
  try {
    await feed.look();
    let position = sent.text === undefined ? feed.position : readPosition(sent);
    let next = await firstPage(feed, position, sent);
    let lastNews = performance.now();
    yield { changes: [], position: textOf(position) };
    for (; !signal.aborted; next = await feed.pageAfter(position).catch(waitUnlessFinal)) {
      let changes: Change[] = [];
      const actor = next && (await caller().catch(() => undefined));
      if (next && actor) {
        follower.isBehind = !next.isKept;
        changes = next.changes.flatMap(change => seenBy(actor, choice, change));
        position = next.to;
      } else {
        // There is nothing new, or the caller's right has ended and the stream is about to be aborted.
        await wait();
        position = feed.current(position);
      }
      if (changes.length === 0 && performance.now() - lastNews < newsEvery) continue;
      lastNews = performance.now();
      yield { changes, position: textOf(position) };
    }
  } finally {
    leave();
    signal.removeEventListener('abort', wake);
  }
}

/** Whether PostgreSQL accepts the snapshots that a client sent shows here. */
const firstPage = (feed: Feed, position: Position, sent: SentPosition) =>
  feed.pageAfter(position).catch(error => {
    throw databaseFailure(error)?.code === invalidText ? badPosition(sent) : error;
  });

/** While the database is away, there is nothing new. */
function waitUnlessFinal(error: unknown): undefined {
  if (explain(error).code !== 'unavailable') throw error;
}

/** The change as the caller may see it, or nothing. */
function seenBy(actor: Actor, { resources, id, side: wanted }: Choice, change: Change): Change[] {
  const resource = resources.find(({ name }) => name === change.resource);
  if (!resource || (id !== undefined && id !== change.id)) return [];
  if (!scopesOf(resource.scope).some(scope => actor.scopes.includes(scope))) return [];
  const members = Object.entries(wanted);
  const isSeen = (side: Record<string, unknown>) =>
    members.every(([name, value]) => side[name] === value) && visible({ actor }, resource, side);
  if (!change.sides.some(isSeen)) return [];
  const record = change.record && (visible({ actor }, resource, change.record) ?? null);
  return [record === change.record ? change : { ...change, record }];
}
