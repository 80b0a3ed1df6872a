import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { any, random, seed } from '#test/helper/values/random.ts';
import { ask, json } from '#test/rig/cluster/ask.ts';
import { answers } from '#test/rig/cluster/part.ts';
import { openSink, type SinkCall } from '#test/rig/effects/sink.ts';
import { openLocalPostgres } from '#test/rig/openCluster.ts';
import { type Service, spawnService, until, withSink } from '#test/rig/process.ts';
import { freePort } from '#test/rig/servers/ports.ts';

const many = Number(process.env.TEST_CHANGES ?? 3000);
const mostKills = 12;
/** The effects of two releases. */
const releases = ['user.create,user.change,user.delete', 'user.create,user.delete'] as const;

t.test(`${many} changes, and workers that are killed around their effects`, async t => {
  t.comment(`TEST_SEED=${seed}`);
  const postgres = await openLocalPostgres(t);
  const ports = [await freePort(), await freePort()];
  let isOver = false;
  let kills = 0;
  /** The releases by their generation, which requests name. */
  const generations: string[] = [];
  const starting: Promise<void>[] = [];
  const servers: (Service & { generation: number })[] = [];
  async function start(i: number, effects: string): Promise<void> {
    const env = {
      DATABASE_URL: postgres.url,
      PORT: String(ports[i]),
      SINK_URL: sink.url,
      SINK_EFFECTS: effects,
      LOG_LEVEL: 'warn',
    };
    const generation = generations.push(effects) - 1;
    servers[i] = Object.assign(spawnService(t, env, undefined, withSink), { generation });
    await until('it is ready', () => answers(`http://127.0.0.1:${ports[i]}/health/ready`));
  }
  const serverOf = ({ worker }: SinkCall) => servers.findIndex(({ child }) => child.pid === worker);
  /** Kills the process that called, and starts another release in its place. */
  async function kill(call: SinkCall): Promise<void> {
    const i = serverOf(call);
    if (i < 0) return;
    await servers[i]?.kill();
    starting.push(start(i, any(releases)));
  }
  const sink = await openSink(t, call => {
    const chance = random();
    const milliseconds = 1 + random() * 30;
    if (chance < 0.02 && kills < mostKills && !isOver && ++kills) {
      if (kills % 2 === 0) return { answer: 'taken', before: () => kill(call) };
      const stop = () => servers[serverOf(call)]?.child.kill('SIGSTOP');
      return { answer: 'taken', milliseconds, before: stop, afterwards: () => kill(call) };
    }
    if (chance < 0.06) return { answer: 'refused', milliseconds };
    if (chance < 0.08) return { answer: 'closed', milliseconds };
    if (chance < 0.083) return { answer: 'silent' };
    if (chance < 0.088) return { answer: 'taken', milliseconds: 25_000 };
    return { answer: 'taken', milliseconds };
  });
  await start(0, releases[0]);
  await start(1, releases[1]);

  let [written, refused] = [0, 0];
  async function write(n: number): Promise<void> {
    const users: string[] = [];
    for (let i = 0; written < many; i++) {
      const { generation } = any(servers);
      const url = `http://127.0.0.1:${ports[servers.findIndex(each => each.generation === generation)]}`;
      const headers = { 'x-request-id': `generation-${generation}.${n}.${i}` };
      const chance = random();
      const send = async (method: string, path: string, body: object) => {
        const sent = ask(`${url}/api/users${path}`, { ...json(body, headers), method });
        const answer = await sent.catch(() => undefined);
        if (answer && answer.status < 300) written++;
        return answer;
      };
      const id = any(users.length > 0 ? users : ['']);
      if (chance < 0.3 || id === '') {
        const created = await send('POST', '', { name: 'Ada', email: `user${n}.${i}@example.com` });
        if (created?.status === 201) users.push(created.body.id);
      } else if (chance < 0.35) {
        // Changes something, and then meets a constraint.
        const email = `user${n}.0@example.com`;
        if ((await send('PATCH', `/${id}`, { name: `Not ${i}`, email }))?.status === 409) refused++;
      } else if (chance < 0.4) {
        users.splice(users.indexOf(id), 1);
        await send('DELETE', `/${id}`, {});
      } else await send('PATCH', `/${id}`, { name: `Name ${i}` });
      await sleep(20);
    }
  }
  await Promise.all(Array.from({ length: 12 }, (_, n) => write(n)));
  isOver = true;
  await Promise.all(starting);
  // A release that knows all effects takes what the others have left alone.
  for (const i of [0, 1]) {
    await servers[i]?.kill('SIGTERM');
    await start(i, releases[0]);
  }
  const count = async (where: string) => {
    const text = `select count(*)::int as total from webhook_events where provider = 'effects' and ${where}`;
    return (await postgres.query(text))[0]?.total;
  };
  await until('no effect is left', async () => (await count(`status in ('received', 'failed')`)) === 0, 300);

  const entries = await postgres.query(
    `select id, action, version, request_id from audit_log where action like 'user.%'`,
  );
  const hasEffect = ({ action, version, request_id }: Record<string, unknown>) => {
    const generation = Number(/^generation-(\d+)\./.exec(String(request_id))?.[1]);
    const name = version === 1 ? 'user.create' : String(action);
    return generations[generation]?.split(',').includes(name);
  };
  const expected = new Set(entries.filter(hasEffect).map(({ id }) => String(id)));
  const taken = sink.calls.filter(({ answer }) => answer === 'taken');
  const byKey = Map.groupBy(sink.calls, ({ key }) => key);
  t.same(
    [...expected].filter(id => !taken.some(({ key }) => key === id)),
    [],
    'each committed change, at least once',
  );
  t.same(
    [...byKey.keys()].filter(key => !expected.has(key)),
    [],
    'and no other',
  );
  t.equal(await count('true'), expected.size);
  t.equal(await count(`status = 'processed'`), expected.size);
  for (const [key, calls] of byKey) {
    const facts = new Set(calls.map(({ id, version, name }) => `${name} ${id} ${version}`));
    t.equal(facts.size, 1, `${key} is always the same change`);
  }
  const smooth = [...Map.groupBy(sink.calls, ({ id }) => id).values()].filter(calls =>
    calls.every(({ answer }) => answer === 'taken'),
  );
  for (const calls of smooth) {
    const versions = calls.map(({ version }) => version);
    t.same(
      versions,
      versions.toSorted((a, b) => a - b),
      'in order',
    );
  }
  const twice = [...Map.groupBy(taken, ({ key }) => key).values()].filter(calls => calls.length > 1).length;
  const restarts = generations.length - 4;
  t.ok(
    restarts >= mostKills / 2 && refused > 20 && smooth.length > 50,
    `${restarts} kills, ${refused} refused writes`,
  );
  t.comment(
    `${entries.length} changes, ${expected.size} with an effect; ${sink.calls.length} calls, ${twice} of them taken twice`,
  );
  t.comment(`${sink.overlaps()} calls of a record overlapped`);
});
