import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { newId } from '#src/core/ids.ts';
import { openEvents } from '#test/helper/eventStream.ts';
import { any, random } from '#test/helper/values/random.ts';
import { ask, json } from '#test/rig/cluster/ask.ts';
import { until } from '#test/rig/process.ts';

/** Milliseconds after which a reader is cut. */
const cutAfter = 1000;

/**
 * A reader of the stream of changes that is cut every second and goes on after its last id, at one server after the
 * other. Returns what it saw, in order.
 */
function readInPieces(urls: () => string[]) {
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
    /** Settles when the reader is connected: it gets no changes from before. */
    begun: begun.promise,
    cuts: () => cuts,
    stop: () => {
      isOver = true;
      return reading;
    },
  };
}

async function send(url: string, method: string, path: string, body?: object) {
  const answer = await ask(`${url}${path}`, { ...(body && json(body)), method });
  return answer.status < 300 ? answer.body : undefined;
}

/** Changes the same records through all servers, until told to stop. Requests may fail, and some always do. */
async function changeMuch(urls: () => string[], contended: string[], isOver: () => boolean): Promise<void> {
  let made = 0;
  const newBurrow = (url: string, parentId: string | null = null) =>
    send(url, 'POST', '/api/burrows', { label: 'x', parentId });
  const shared: { id: string }[] = await Promise.all(
    Array.from({ length: 30 }, () => newBurrow(any(urls()))),
  );
  async function write(url: string) {
    const kind = random();
    if (kind < 0.05) await newBurrow(url, newId(Date.now()));
    else if (kind < 0.06 && contended.length > 0)
      await send(url, 'PATCH', `/api/burrows/${any(contended)}`, { label: `${++made}` });
    else if (kind < 0.7) await send(url, 'PATCH', `/api/burrows/${any(shared).id}`, { label: `${++made}` });
    else if (kind < 0.85) await newBurrow(url);
    else if (kind < 0.95) {
      const burrow = await newBurrow(url);
      if (burrow) await send(any(urls()), 'DELETE', `/api/burrows/${burrow.id}`);
    } else {
      const parent = await newBurrow(url);
      if (!parent) return;
      const specimen = { label: 'x', isWet: true, burrowId: parent.id };
      await Promise.all([newBurrow(url, parent.id), send(any(urls()), 'POST', '/api/specimens', specimen)]);
      await send(any(urls()), 'DELETE', `/api/burrows/${parent.id}?cascade=true`);
    }
  }
  const loop = async () => {
    while (!isOver()) await write(any(urls())).catch(() => sleep(20));
  };
  await Promise.all(Array.from({ length: 16 }, loop));
}

/** Counts what is wrong with what a reader saw, given what was committed; both as `<id> <version>`. */
function mistakesIn(seen: string[], committed: string[]) {
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
const noMistakes = { missing: 0, 'sent twice': 0, 'out of order': 0, 'never committed': 0 };

interface Storm {
  /** Returns the URLs of the servers that run now. */
  urls: () => string[];
  query: (text: string) => Promise<Record<string, unknown>[]>;
  many: number;
  /** Run one after the other while changes are made. */
  faults: (() => Promise<unknown>)[];
  /** Changes burrows in another way, until told to stop. Requests may change those that it adds to the list, too. */
  meanwhile?: (contended: string[], isOver: () => boolean) => Promise<void>;
}

/** Makes many changes under faults and checks that a reader that is cut each second gets each once, in order. */
export async function followChanges(t: Test, storm: Storm): Promise<void> {
  const { urls, query, many, faults, meanwhile = async () => {} } = storm;
  const reader = readInPieces(urls);
  await reader.begun;
  const read = (columns: string) =>
    query(`select ${columns} from audit_log where version is not null`).catch(() => []);
  const written = (least: number) =>
    until('a part is written', async () => Number((await read('count(*)'))[0]?.count) > least, 300);
  let isOver = false;
  const contended: string[] = [];
  const writing = [changeMuch(urls, contended, () => isOver), meanwhile(contended, () => isOver)];
  for (const [i, fault] of faults.entries()) {
    await written((many / (faults.length + 1)) * (i + 1));
    await fault();
  }
  await written(many);
  isOver = true;
  await Promise.all(writing);
  const committed = (await read(`record_id || ' ' || version as one`)).map(({ one }) => String(one));
  await until('the reader is done', () => new Set(reader.seen).size >= committed.length, 120);
  await reader.stop();
  t.comment(`${committed.length} changes, ${reader.cuts()} pieces`);
  t.same(mistakesIn(reader.seen, committed), noMistakes);
  t.ok(reader.cuts() > 3);
}
