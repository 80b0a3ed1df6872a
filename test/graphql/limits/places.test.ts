import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { Settings } from '#schemas/settings.ts';
import type { Connection } from '#src/database/connection.ts';
import { bearer, makeKey, makeUser } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { holdCostly, lockUser, openTestDatabase } from '#test/helper/database.ts';
import { fill } from '#test/helper/graphql.ts';
import { request } from '#test/helper/http.ts';
import { until } from '#test/rig/process.ts';

/** An application whose costly statements wait, and accounts by name. */
async function buildHeld(t: Test, settings: Partial<Settings> = {}) {
  const real = await openTestDatabase(t);
  const { database, ...costly } = holdCostly(t, real);
  const service = await build(t, { database, settings: { AUTH_MODE: 'required', ...settings } });
  const keys = new Map<string, { headers: Record<string, string> }>();
  for (const name of 'ABCDEFGH') keys.set(name, { headers: bearer((await makeKey(real, ['write'])).key) });
  const ask = (name: string, query: string, status = 200, variables = {}) =>
    service.call('POST', '/api/graphql', status, { ...keys.get(name), body: { query, variables } });
  const large = (name: string, status = 200) => ask(name, largeOf(name), status);
  const inFlight = (count: number) =>
    until(`${count} are in flight`, () => service.app.pressure.inFlight === count);
  /** The accounts, in the order in which their operations began. */
  const begunBy = () => costly.begun.map(params => params.find(value => keys.has(`${value}`))).join('');
  let port: number | undefined;
  /** Sends an operation over a socket of its own, which reads nothing. */
  async function sendRaw(name: string, query: string) {
    port ??= Number(new URL(await service.app.listen({ port: 0, host: '127.0.0.1' })).port);
    const body = JSON.stringify({ query });
    const headers = { ...keys.get(name)?.headers, 'content-type': 'application/json' };
    const socket = connect(port, '127.0.0.1').pause();
    t.teardown(() => socket.destroy());
    socket.write(request('POST /api/graphql', { ...headers, 'content-length': `${body.length}` }, body));
    return socket;
  }
  return { ...service, ...costly, real, keys, ask, large, inFlight, begunBy, sendRaw };
}
/** A query for up to 1,000 burrows, and 1,000 parents with a count. There are none, so it is one statement. */
const largeOf = (label: string) => `{ burrows(label: "${label}") { parent { burrowsCount } } }`;

t.test(
  'large operations have places: two for an account, eight in a process, and accounts in turn',
  async t => {
    const { large, release, open, inFlight, begunBy } = await buildHeld(t);
    const answers: Promise<unknown>[] = [];
    const send = async (names: string, begun: string) => {
      answers.push(...[...names].map(name => large(name)));
      await inFlight(answers.length);
      await sleep(50);
      t.equal(begunBy(), begun);
    };
    await send('AAA', 'AA');
    await send('BBCCDE', 'AABBCCDE');
    await send('FFFG', 'AABBCCDE');
    for (const [ended, next] of [
      ['E', 'F'],
      ['F', 'G'],
    ]) {
      release(ended);
      const begun = begunBy();
      await until('the next one has begun', () => begunBy() !== begun);
      t.equal(begunBy().slice(begun.length), next, `after ${begun}`);
    }
    open();
    await Promise.all(answers);
    t.equal(begunBy().length, answers.length);
  },
);

t.test('who has no place by the deadline is refused, and the place of who ends is free', async t => {
  const { large, open, begun } = await buildHeld(t, { REQUEST_TIMEOUT: 1 });
  const refused = {
    headers: { 'retry-after': '1' },
    body: { errors: [{ extensions: { code: 'UNAVAILABLE' } }] },
  };
  for (const answer of await Promise.all([1, 2, 3].map(() => large('A', 503)))) t.match(answer, refused);
  open();
  await large('A');
  t.equal(begun.length, 3, 'the one that waited was never begun');
});

t.test('an operation for at most 2,000 records, counts and lookups waits for none', async t => {
  const { ask, large, open, begun, inFlight } = await buildHeld(t);
  const waiting = [large('A'), large('A')];
  await until('both have begun', () => begun.length === 2);
  await ask('A', '{ a: users { id } b: users { id } }');
  await ask('A', '{ burrows(limit: 40) { burrows(limit: 48) { id } } usersCount }');
  const third = ask('A', '{ a: users { id } b: users { id } usersCount }');
  await inFlight(3);
  open();
  await Promise.all([...waiting, third]);
  t.equal(begun.length, 5);
});

t.test('a place is given back when the answer is a text: a client that does not read holds none', async t => {
  const { app, real, open, large, inFlight, sendRaw } = await buildHeld(t, { REQUEST_TIMEOUT: 30 });
  await fill(real, 1, 500);
  await real.writes.rows(`update specimens set label = rpad(label, 500, 'x')`, []);
  open();
  const labels = Array.from({ length: 25 }, (_, i) => `l${i}: label`);
  for (let i = 0; i < 2; i++) await sendRaw('A', `{ specimens { ${labels} burrow { specimensCount } } }`);
  await inFlight(2);
  await inFlight(0);
  const connections = await new Promise(resolve => app.server.getConnections((_, count) => resolve(count)));
  t.equal(connections, 2, 'their 6 MB wait for them');
  await large('A');
});

t.test(
  'a mutation takes its place after its write; with an Idempotency-Key it begins when it has one',
  async t => {
    const { call, ask, large, open, begun, keys, inFlight, real } = await buildHeld(t);
    await fill(real, 1, 0);
    const [{ id: parentId }] = (await call('GET', '/api/burrows', 200, keys.get('B'))).body.data;
    const query = `mutation ($input: BurrowCreateInput!) {
    createBurrow(input: $input) { parent { burrows { label parent { burrowsCount } } } } }`;
    const waiting = [large('A'), large('A')];
    await until('both have begun', () => begun.length === 2);
    const written = async (label: string) =>
      (await call('GET', `/api/burrows?label=${label}`, 200, keys.get('B'))).body.meta.total;
    const plain = ask('A', query, 200, { input: { label: 'Plain', parentId } });
    const headers = { ...keys.get('A')?.headers, 'idempotency-key': 'once' };
    const body = { query, variables: { input: { label: 'Keyed', parentId } } };
    const keyed = call('POST', '/api/graphql', 200, { headers, body });
    await until('one is written', async () => (await written('Plain')) === 1);
    await inFlight(4);
    t.equal(await written('Keyed'), 0, 'it is all of it or nothing');
    t.equal(begun.length, 2);
    open();
    await Promise.all(waiting);
    const burrows = [{ label: 'Plain' }, { label: 'Keyed' }];
    t.match((await keyed).body.data, { createBurrow: { parent: { burrows } } });
    t.match((await plain).body.data.createBurrow.parent.burrows[0], burrows[0]);
  },
);

t.test('hostile: what one account sends at once costs its limit, and others do not wait for it', async t => {
  const { ask, real, begun, open, inFlight, send, call, keys } = await buildHeld(t, { RATE_LIMIT_MAX: 300 });
  await fill(real, 200, 5);
  const counts = Array.from({ length: 30 }, (_, i) => `a${i}: specimensCount(label: "x")`);
  const options = { ...keys.get('A'), body: { query: `{ burrows { ${counts} } }` } };
  const burst = Array.from({ length: 100 }, () => send('POST', '/api/graphql', options));
  await inFlight(100);
  t.equal((await ask('B', '{ burrows(limit: 10) { label } }')).body.data.burrows.length, 10);
  open();
  const bodies = (await Promise.all(burst)).map(({ answer }) => answer.body);
  const refused = bodies.filter(({ errors }) => errors?.[0].extensions.code === 'RATE_LIMITED');
  t.ok(refused.length >= 99, `${refused.length}: each costs 64 points, and 200 were charged before`);
  t.ok(begun.length <= 2 * 31, `${begun.length} statements instead of 3,100`);
  await call('GET', '/api/users', 429, keys.get('A'));
});

const deep = '{ burrows { specimens { burrow { specimens { id } } } } }';
const one = deep.replace('burrows', 'burrow(id: "019aa5d0-0001-7000-8000-000000000001")');

t.test('hostile: the counts of an operation reach together as far as its points', async t => {
  const real = await openTestDatabase(t);
  await fill(real, 1, 0);
  let rows = 0;
  /** A connection on which every list has more rows than are counted. */
  const endless = (connection: Connection): Connection => ({
    ...connection,
    rows: async (text, params, ...others) => {
      if (!/ as passed/.test(text)) return connection.rows(text, params, ...others);
      const most = Math.max(...params.map(Number).filter(Boolean));
      rows += most;
      return [['019aa5d0-0001-7000-8000-000000000001', '0', `${most}`]];
    },
  });
  const database = { ...real, reads: endless(real.reads), costly: endless(real.costly) };
  const { call } = await build(t, { database, settings: { RATE_LIMIT_MAX: 600 } });
  const counts = Array.from({ length: 30 }, (_, i) => `a${i}: specimensCount(label: "x")`);
  const query = `{ burrow(id: "019aa5d0-0001-7000-8000-000000000001") { ${counts} } }`;
  const { body } = await call('POST', '/api/graphql', 200, { body: { query } });
  t.match(body.errors, [{ extensions: { code: 'RATE_LIMITED' } }]);
  t.ok(rows <= 2 * 600 * 10_000, `${rows} rows for 600 points`);
});

// Bug: operations that nobody waited for any more ran to their end.
t.test('after its deadline nothing more of an operation is begun', async t => {
  const { real, ask, begun, open } = await buildHeld(t, { REQUEST_TIMEOUT: 1 });
  await fill(real, 2, 2);
  await Promise.all([deep, one, one].map(query => ask('A', query, 503)));
  open();
  await sleep(200);
  t.equal(begun.length, 2, 'the first statements of those that had a place');
});

t.test('after its client has left nothing more of an operation is begun', async t => {
  const { real, begun, open, inFlight, sendRaw } = await buildHeld(t);
  await fill(real, 2, 2);
  const sockets = [await sendRaw('A', deep), await sendRaw('A', one)];
  await until('both have begun', () => begun.length === 2);
  sockets.push(await sendRaw('A', one));
  await inFlight(3);
  for (const socket of sockets) socket.destroy();
  await inFlight(0);
  open();
  await sleep(200);
  t.equal(begun.length, 2, 'the first statements of those that had a place');
});

t.test('a mutation whose client has left begins no other write', async t => {
  const { real, ask, inFlight, sendRaw } = await buildHeld(t);
  const { id } = await makeUser(real);
  const release = await lockUser(real, id, 'update');
  const socket = await sendRaw(
    'A',
    `mutation {
    first: updateUser(id: "${id}", input: { name: "First" }) { id }
    second: createUser(input: { name: "Second", email: "second@example.com" }) { id } }`,
  );
  await inFlight(1);
  await sleep(100);
  socket.destroy();
  await inFlight(0);
  await release();
  await sleep(500);
  t.equal((await ask('A', '{ usersCount }')).body.data.usersCount, 1);
});
