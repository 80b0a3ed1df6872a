import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { changeMuch, mistakesIn, noMistakes, readInPieces } from '../rig/changes.ts';
import { openLocalPostgres } from '../rig/openCluster.ts';
import { type Service, spawnService, until } from '../rig/process.ts';
import { freePort } from '../rig/servers/ports.ts';
import { hasRedis, startRedis } from '../rig/servers/redis.ts';

const many = Number(process.env.TEST_CHANGES ?? 100_000);
const skip = !hasRedis && 'redis-server is not installed';

t.test(`${many} changes under faults: a reader that is cut each second gets each once`, { skip }, async t => {
  const [postgres, redis] = [await openLocalPostgres(t), await startRedis(t)];
  const ports = [await freePort(), await freePort()];
  const start = (port = 0) =>
    spawnService(t, {
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      PORT: String(port),
      RATE_LIMIT_MAX: '1000000000',
      LOG_LEVEL: 'warn',
    });
  const servers = ports.map(start) as [Service, Service];
  const urls = ports.map(port => `http://127.0.0.1:${port}`);
  const isReady = (url: string) =>
    fetch(`${url}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  for (const url of urls) await until('it is ready', () => isReady(url), 60);
  const reader = readInPieces(() => urls);
  await reader.begun;
  const read = (text: string) => postgres.query(text).catch(() => []);
  const written = async () => {
    const [row] = await read('select count(*)::int as total from audit_log where version is not null');
    return Number(row?.total ?? 0);
  };
  let isOver = false;
  const writing = changeMuch(
    () => urls,
    () => isOver,
    16,
  );
  const faults = [
    async () => {
      await servers[1].kill();
      await sleep(1000);
      servers[1] = start(ports[1]);
    },
    async () => {
      await postgres.stop('SIGQUIT');
      await sleep(1000);
      await postgres.start();
    },
    async () => {
      await redis.stop('SIGKILL');
      await sleep(3000);
      await redis.start();
    },
  ];
  for (const [i, fault] of faults.entries()) {
    await until('a part is written', async () => (await written()) > (many / 4) * (i + 1), 300);
    await fault();
  }
  await until('all is written', async () => (await written()) > many, 300);
  isOver = true;
  await writing;
  const rows = await read(
    `select record_id || ' ' || version as one from audit_log where version is not null`,
  );
  const committed = rows.map(({ one }) => String(one));
  await until('the reader is done', () => new Set(reader.seen).size >= committed.length, 120);
  await reader.stop();
  t.comment(`${committed.length} changes, ${reader.cuts()} pieces`);
  t.same(mistakesIn(reader.seen, committed), noMistakes);
});
