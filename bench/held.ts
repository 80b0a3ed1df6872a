import { once } from 'node:events';
import { Agent, get, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { mainOf } from '#src/command.ts';
import { newId } from '#src/core/ids.ts';
import { openBenchDatabase } from './database.ts';
import { cpuOf, start, stopAll } from './processes.ts';

const usage = `node bench/held.ts [--minutes 10]: measures writes, and how soon another instance shows them, beside a transaction that
stays open and has changed something. PostgreSQL keeps every row that is deleted meanwhile. Needs Linux.`;

const options = { minutes: { type: 'string', default: '10' } } as const;
const perSecond = 1000;

/** Creates users at a steady pace, and notes when each request began. */
function makeWriter(origin: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 50 });
  const [begun, running] = [new Map<string, number>(), new Set<Promise<void>>()];
  let made = 0;
  async function create() {
    const at = performance.now();
    const headers = { 'content-type': 'application/json' };
    const sent = request(`${origin}/api/users`, { method: 'POST', agent, headers });
    sent.end(JSON.stringify({ name: 'Ada', email: `${++made}@example.com` }));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    const text = (await answer.setEncoding('utf8').toArray()).join('');
    if (answer.statusCode !== 201) throw new Error(text);
    begun.set(JSON.parse(text).id, at);
  }
  return async (seconds: number) => {
    begun.clear();
    const began = performance.now();
    for (let elapsed = 0, sent = 0; elapsed < seconds; elapsed = (performance.now() - began) / 1000) {
      for (; sent < elapsed * perSecond && running.size < 200; sent++) {
        const one: Promise<void> = create().finally(() => running.delete(one));
        running.add(one);
      }
      await sleep(5);
    }
    await Promise.all(running);
    return begun;
  };
}

/** Notes when a reader of the stream of changes gets each of them. */
async function openReader(origin: string) {
  const seen = new Map<string, number>();
  const [response] = (await once(get(`${origin}/api/changes`), 'response')) as [IncomingMessage];
  let rest = '';
  response.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const id = /^data: .*?"id":"([^"]+)"/.exec(line)?.[1];
      if (id) seen.set(id, performance.now());
    }
  });
  return { seen, close: () => response.destroy() };
}

async function main({ values }: { values: { minutes?: string | undefined } }) {
  const database = await openBenchDatabase();
  const settings = {
    AUTH_MODE: 'open',
    LOG_LEVEL: 'warn',
    DATABASE_URL: database.url,
    RATE_LIMIT_MAX: '1000000000',
  };
  const command =
    'exec node --disable-warning=ExperimentalWarning --import ./test/world/register.ts src/main.ts';
  const sql = postgres(database.url, { max: 1, onnotice: () => {} });
  try {
    const [one, two] = [await start(command, 4101, settings), await start(command, 4102, settings)];
    const write = makeWriter(one.origin);
    const { seen, close } = await openReader(two.origin);
    async function measure(what: string, seconds: number) {
      const cpu = () => [one, two, database].map(({ pid }) => cpuOf(pid));
      const before = cpu();
      const begun = await write(seconds);
      const costs = cpu().map((after, i) => (after - (before[i] ?? 0)) / begun.size);
      await sleep(2500);
      const delays = [...begun].flatMap(([id, at]) => (seen.has(id) ? [(seen.get(id) ?? 0) - at] : []));
      delays.sort((a, b) => a - b);
      const at = (share: number) => delays[Math.floor((delays.length - 1) * share)]?.toFixed(0);
      const missing = begun.size - delays.length;
      console.log(
        `${what}: ${(begun.size / seconds).toFixed(0)} writes a second, ${costs.map(cost => cost.toFixed(3)).join(' + ')} ms (writer, reader, PostgreSQL); shown after ${at(0.5)} ms, p99 ${at(0.99)}, at most ${at(1)}${missing > 0 ? `, ${missing} not within 2.5 s` : ''}`,
      );
      seen.clear();
    }
    await measure('warm-up', 10);
    await measure('before', 30);
    const late = newId(Date.now());
    await sql.unsafe('begin isolation level repeatable read');
    await sql.unsafe(
      `insert into audit_log (id, created_at, action, record_id, changed, actor_kind, actor_name, transport, sides, version)
       values ('${late}', now(), 'user.create', '${late}', '{}', 'anonymous', 'bench', 'job', '[{}]', 1)`,
    );
    for (let minute = 1; minute <= Number(values.minutes); minute++) await measure(`minute ${minute}`, 57);
    const began = performance.now();
    await sql.unsafe('commit');
    while (!seen.has(late)) await sleep(5);
    console.log(`Its own change is shown ${(performance.now() - began).toFixed(0)} ms after its commit.`);
    await database.tidy();
    await measure('after it', 30);
    close();
  } finally {
    await sql.end();
    await stopAll();
    await database.close();
  }
}

await mainOf(import.meta, { usage, options, run: main });
