// runs: long
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { Connection } from '#src/database/connection.ts';
import { build } from '#test/helper/app.ts';
import { openTestDatabase } from '#test/helper/database.ts';
import { listen } from '#test/helper/eventStream.ts';
import { burrow } from '#test/world/burrows.ts';
import { specimen } from '#test/world/specimens.ts';

/** This many changes of 2.4 kB are more than all buffers of the kernel hold. */
const many = 4500;

/** An application, the position before many changes, and how many pages of changes were read. */
async function start(t: Test) {
  const database = await openTestDatabase(t);
  let pages = 0;
  const watch = (connection: Connection): Connection => ({
    ...connection,
    rows: (text, params) => {
      if (/"sides".*from "changes"/s.test(text)) pages++;
      return connection.rows(text, params);
    },
  });
  const watched = { ...database, reads: watch(database.reads), costly: watch(database.costly) };
  const service = await build(t, { database: watched });
  const { follow } = await listen(t, service);
  const { id: burrowId } = await service.make(burrow, { parentId: null });
  const live = await follow();
  const [{ id: position = '' } = {}] = await live.next(1, () => true);
  await service.make(specimen, { burrowId, label: '\u{1F600}'.repeat(500) });
  /** Writes many changes, as one transaction does. */
  const writeMany = () =>
    database.writes.rows(
      `insert into audit_log (id, created_at, action, record_id, changed, actor_kind, actor_name, transport, version, sides)
       select (left(id::text, 24) || lpad(n::text, 12, '0'))::uuid, created_at, 'specimen.change', record_id, '{label}', actor_kind,
         actor_name, transport, version, sides from audit_log, generate_series(1, ${many}) n where action = 'specimen.create'`,
      [],
    );
  /** A client that reads nothing until it is told to. */
  async function catchUp() {
    const accepted = once(service.app.server, 'connection') as Promise<[Socket]>;
    const client = connect((service.app.server.address() as AddressInfo).port, '127.0.0.1').pause();
    t.teardown(() => client.destroy());
    client.on('error', () => {});
    client.write(`GET /api/changes HTTP/1.1\r\nhost: x\r\nlast-event-id: ${position}\r\n\r\n`);
    const [server] = await accepted;
    const readAll = async () => {
      let [events, rest] = [0, ''];
      for await (const chunk of client) {
        const parts = (rest + chunk.toString('latin1')).split('\ndata: {');
        events += parts.length - 1;
        rest = parts.at(-1)?.slice(-8) ?? '';
        if (events > many) break;
      }
      return events;
    };
    return { server, readAll };
  }
  return { live, writeMany, catchUp, pages: () => pages };
}

t.test(
  'a stream that catches up reads on only when its own bytes have left, and gets everything',
  async t => {
    const { live, writeMany, catchUp, pages } = await start(t);
    live.close();
    await sleep(500);
    await writeMany();
    const before = pages();
    const { server, readAll } = await catchUp();
    let last = -1;
    while (last !== pages()) {
      last = pages();
      await sleep(1000);
    }
    const read = last - before;
    t.ok(read < many / 100, `${read} pages were read`);
    const waiting = read * 100 * 2400 - server.bytesWritten;
    t.ok(waiting < 600_000, `${waiting} bytes wait behind the socket`);
    t.equal(await readAll(), many + 1);
  },
);

t.test('one that catches up may stand still although another one is live', async t => {
  const { live, writeMany, catchUp } = await start(t);
  await live.next(1);
  await writeMany();
  t.equal((await live.next(many)).length, many, 'the live one has everything, at once');
  const { server, readAll } = await catchUp();
  await sleep(5000);
  t.notOk(server.destroyed, 'it is not cut for its backlog');
  if (!server.destroyed) t.equal(await readAll(), many + 1);
});
