import { setTimeout as sleep } from 'node:timers/promises';
import { openEvents } from '../helper/eventStream.ts';

/** Milliseconds after which a reader is cut. */
const cutAfter = 1000;

/**
 * A reader of the stream of changes that is cut every second and goes on after its last id, at one server after the
 * other. Returns what it saw, in order.
 */
export function readInPieces(urls: () => string[]) {
  const seen: string[] = [];
  const begun = Promise.withResolvers<void>();
  let [cuts, isOver] = [0, false];
  async function read() {
    let last: string | undefined;
    for (let i = 0; !isOver; i++) {
      const url = urls()[i % urls().length];
      const headers = last === undefined ? undefined : { 'last-event-id': last };
      const stream = await openEvents(undefined, `${url}/api/changes`, headers && { headers }).catch(
        () => undefined,
      );
      if (stream?.response.status !== 200) {
        await sleep(50);
        continue;
      }
      void stream.next(1, () => true).then(() => begun.resolve());
      const timer = setTimeout(stream.close, cutAfter);
      await stream.ended;
      clearTimeout(timer);
      cuts++;
      for (const { id, data } of stream.received) {
        last = id ?? last;
        if (data) seen.push(`${data.id} ${data.version}`);
      }
    }
  }
  const reading = read();
  return {
    seen,
    /** Before that, changes are not for this reader. */
    begun: begun.promise,
    cuts: () => cuts,
    stop: () => {
      isOver = true;
      return reading;
    },
  };
}

const any = <T>(values: T[]) => values[Math.floor(Math.random() * values.length)] as T;

async function send(url: string, method: string, path: string, body?: object) {
  const sent = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch(`${url}${path}`, { method, ...sent });
  const text = await response.text();
  return response.ok && text !== '' ? JSON.parse(text) : undefined;
}

/** Changes the same records through all servers, until told to stop. Requests may fail. */
export async function changeMuch(urls: () => string[], isOver: () => boolean, writers = 8): Promise<void> {
  let made = 0;
  const newUser = (url: string) =>
    send(url, 'POST', '/api/users', { name: 'Ada', email: `w${++made}.${Date.now()}@example.com` });
  const author = await newUser(urls()[0] as string);
  const newPost = (url: string, { id: authorId } = author) =>
    send(url, 'POST', '/api/posts', { title: 'x', authorId });
  const shared: { id: string }[] = await Promise.all(Array.from({ length: 30 }, () => newPost(any(urls()))));
  async function write(url: string) {
    const kind = Math.random();
    if (kind < 0.7)
      await send(url, 'PATCH', `/api/posts/${any(shared).id}`, {
        title: `${++made}`,
        status: any(['draft', 'published']),
      });
    else if (kind < 0.85) await newPost(url);
    else if (kind < 0.95) {
      const post = await newPost(url);
      if (post) await send(any(urls()), 'DELETE', `/api/posts/${post.id}`);
    } else {
      const user = await newUser(url);
      if (!user) return;
      await Promise.all([newPost(url, user), newPost(any(urls()), user)]);
      await send(any(urls()), 'DELETE', `/api/users/${user.id}?cascade=true`);
    }
  }
  const loop = async () => {
    while (!isOver()) await write(any(urls())).catch(() => sleep(20));
  };
  await Promise.all(Array.from({ length: writers }, loop));
}

/** What is wrong with what a reader saw, given what was committed; both as `<id> <version>`. */
export function mistakesIn(seen: string[], committed: string[]) {
  const [set, known] = [new Set(seen), new Set(committed)];
  const last = new Map<string, number>();
  const unordered = seen.filter(one => {
    const [id = '', version] = one.split(' ');
    const before = last.get(id) ?? 0;
    last.set(id, Number(version));
    return Number(version) <= before;
  });
  return {
    missing: committed.filter(one => !set.has(one)).length,
    'sent twice': seen.length - set.size,
    'out of order': unordered.length,
    'never committed': [...set].filter(one => !known.has(one)).length,
  };
}
export const noMistakes = { missing: 0, 'sent twice': 0, 'out of order': 0, 'never committed': 0 };
