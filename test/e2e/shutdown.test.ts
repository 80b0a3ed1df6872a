import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { createPostgres } from '../helper/database.ts';
import {
  call,
  makeFolder,
  type Reply,
  type Service,
  spawnService,
  startService,
  until,
} from '../helper/process.ts';

t.setTimeout(180_000);

/** A client on one kept connection, without a pause until it is asked to leave. */
async function keepAsking(service: Service, client: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const replies: Reply[] = [];
  try {
    for (let i = 0; replies.at(-1)?.headers.connection !== 'close'; i++)
      replies.push(
        i % 3 === 0
          ? await call(
              service,
              'POST',
              '/api/users',
              { name: 'A', email: `${client}-${i}@example.com` },
              agent,
            )
          : await call(service, 'GET', '/api/users?limit=5', undefined, agent),
      );
    return { replies, lost: undefined };
  } catch (error) {
    return { replies, lost: String(error) };
  } finally {
    agent.destroy();
  }
}

function openSocket(t: Test, { port }: Service): Socket {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  t.teardown(() => socket.destroy());
  return socket;
}
const halfRequest =
  'POST /api/users HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{';

t.test('SIGTERM under load: what was accepted is answered, and the exit code is 0 within 10 s', async t => {
  const service = await startService(t, { DATA_DIR: makeFolder(t) });
  openSocket(t, service);
  openSocket(t, service).write('GET /api/us');
  openSocket(t, service).write(halfRequest);
  const dribbling = openSocket(t, service);
  dribbling.write(halfRequest);
  const drops = setInterval(() => dribbling.writable && dribbling.write(' '), 100);
  t.teardown(() => clearInterval(drops));
  const clients = Array.from({ length: 20 }, (_, client) => keepAsking(service, client));
  await sleep(1000);

  const asked = Date.now();
  service.child.kill('SIGTERM');
  t.equal(await service.ended, 0);
  const seconds = (Date.now() - asked) / 1000;
  t.ok(seconds < 10, `it took ${seconds} s`);
  const results = await Promise.all(clients);
  t.same(results.map(({ lost }) => lost).filter(Boolean), [], 'no request was lost');
  const replies = results.flatMap(client => client.replies);
  t.ok(replies.length > 40, `${replies.length} requests were answered`);
  t.same(new Set(replies.map(({ status }) => status)), new Set([200, 201]));
  t.equal(service.errors(), '');
});

t.test('SIGTERM waits for a slow request, and for nothing once it is answered', async t => {
  const DATABASE_URL = await createPostgres(t);
  const service = await startService(t, { DATABASE_URL });
  const ada = { name: 'Ada', email: 'ada@example.com' };
  const { body: user } = await call(service, 'POST', '/api/users', ada);

  const sql = postgres(DATABASE_URL, { max: 1 });
  t.teardown(() => sql.end());
  const agent = new Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  let slow: Promise<Reply> | undefined;
  await sql.begin(async tx => {
    await tx`select 1 from users for update`;
    slow = call(service, 'PUT', `/api/users/${user.id}`, { ...ada, name: 'Ada King' }, agent);
    await sleep(500);
    service.child.kill('SIGTERM');
    await sleep(1500);
  });
  const answered = Date.now();
  t.match(await slow, { status: 200, body: { name: 'Ada King' } });
  t.equal(await service.ended, 0);
  t.ok(Date.now() - answered < 3000, 'the kept connection of its client did not delay the end');
});

t.test('SIGINT is the same', async t => {
  const service = await startService(t, { DATABASE_URL: await createPostgres(t) });
  const client = keepAsking(service, 1);
  await sleep(300);
  service.child.kill('SIGINT');
  t.equal(await service.ended, 0);
  t.equal((await client).lost, undefined);
});

t.test('a second signal ends the process at once', async t => {
  const service = await startService(t, { DATABASE_URL: await createPostgres(t) });
  openSocket(t, service).write(halfRequest);
  await sleep(200);
  service.child.kill('SIGTERM');
  await until('it is ending', () => service.lines.some(({ msg }) => msg.startsWith('Ending')));
  await sleep(800);
  t.equal(service.child.exitCode, null, 'the half request holds it');
  const asked = Date.now();
  service.child.kill('SIGTERM');
  t.equal(await service.ended, 1);
  t.ok(Date.now() - asked < 2000);
});

t.test('a signal while the service starts ends it with 0', async t => {
  const service = spawnService(t, { DATA_DIR: makeFolder(t) });
  await until('it makes its database', () => service.lines.length > 0);
  service.child.kill('SIGTERM');
  t.equal(await service.ended, 0);
  t.equal(service.port, 0);
});
