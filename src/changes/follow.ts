import type { Side } from '#drizzle/tables/service/auditLog.ts';
import type { Context } from '#src/access/context.ts';
import { need, scopesIn } from '#src/access/need.ts';
import { visible } from '#src/access/ownership.ts';
import { explain } from '#src/database/databaseErrors.ts';
import type { Feed, RunCostly } from './feed.ts';
import type { Followed } from './followed.ts';
import type { Change } from './pages.ts';
import { type ChangePosition, readPosition, type SentPosition } from './position.ts';

/** Which changes somebody wants. */
export interface Choice {
  resources: Followed[];
  id?: string | undefined;
  /** The values that the record must have before or after a change, by the names of filters or of members. */
  filters: Record<string, unknown>;
}

type Caller = Pick<Context, 'actor'>;

/** Somebody who follows changes. */
export interface Follower {
  /** Returns the caller as of now: a stream identifies its caller again and again. */
  caller: () => Caller;
  onCostly: RunCostly;
  /** Aborted when the caller may not read any more. */
  signal: AbortSignal;
  /** Whether the last page was of the past, because the follower has not caught up. */
  isBehind: boolean;
}

/** Changes, and the position after them; or only the position, after a time without any. */
export interface News {
  changes: Change[];
  position: ChangePosition;
}

/** Milliseconds between two positions when there are no changes. Proxies close streams that are silent for longer. */
const newsEvery = 14_000;
/** Milliseconds until a page that could not be read is asked for again. */
const retryAfter = 1000;

/** Yields first the position where it begins, then the changes as they come. */
export async function* follow(
  feed: Feed,
  follower: Follower,
  choice: Choice,
  sent: SentPosition,
): AsyncGenerator<News, void> {
  const { caller, onCostly, signal } = follower;
  const { resources } = choice;
  need(caller(), (resources.length === 1 && resources[0]?.scope) || 'read or own');
  const shown = makeView(caller, choice);
  let woken = Promise.withResolvers<void>();
  let isDue = false;
  /** Whether the follower has ever caught up. */
  let wasThere = false;
  const wake = () => woken.resolve();
  const timer = setInterval(() => {
    isDue = true;
    wake();
  }, newsEvery);
  signal.addEventListener('abort', wake);
  /** Treats an unreachable database as one without news, and looks again later; throws any other error. */
  const waitUnlessFinal = (error: unknown): undefined => {
    if (explain(error).code !== 'unavailable') throw error;
    setTimeout(wake, retryAfter);
  };
  const leave = feed.join(wake);
  try {
    await feed.look();
    let position = sent.text === undefined ? feed.position() : readPosition(sent);
    const pageAfter = () => feed.pageAfter(position, onCostly);
    let page = await pageAfter();
    yield { changes: [], position };
    for (; !signal.aborted; page = await pageAfter().catch(waitUnlessFinal)) {
      let changes: Change[] = [];
      if (page) {
        wasThere ||= page.to === feed.position();
        follower.isBehind = !wasThere || !page.isKept;
        changes = page.changes.flatMap(shown);
        position = page.to;
      } else {
        wasThere = true;
        await woken.promise;
        // Renewed before the next page is read, so a wake-up during the read counts.
        woken = Promise.withResolvers();
      }
      if (changes.length === 0 && !isDue) continue;
      isDue = false;
      yield { changes, position };
    }
  } finally {
    clearInterval(timer);
    leave();
  }
}

/** The function that returns a change as the caller may see it, or nothing. */
function makeView(callerNow: () => Caller, { resources, id, filters }: Choice) {
  const membersOf = new Map(
    resources.map(({ name, parents }) => [
      name,
      Object.entries(filters).map(([filter, value]) => [parents[filter] ?? filter, value] as const),
    ]),
  );
  return (change: Change): Change[] => {
    const resource = resources.find(({ name }) => name === change.resource);
    // An entry without a version has changed no record.
    if (!resource || change.version === 0 || (id !== undefined && id !== change.id)) return [];
    const caller = callerNow();
    if (!scopesIn(resource.scope).some(scope => caller.actor.scopes.includes(scope))) return [];
    const isSeen = (side: Side) =>
      (membersOf.get(resource.name) ?? []).every(([name, value]) => side[name] === value) &&
      visible(caller, resource, side);
    if (!change.sides.some(isSeen)) return [];
    const record = change.record && (visible(caller, resource, change.record) ?? null);
    return [record === change.record ? change : { ...change, record }];
  };
}
