// runs: long, late
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { paymentEvent } from '#test/helper/events/webhooks.ts';
import { isAllKept, Load } from '#test/rig/chaos/load.ts';
import { ask } from '#test/rig/cluster/ask.ts';
import { has, openCluster } from '#test/rig/openCluster.ts';
import { until, withWorld } from '#test/rig/process.ts';
import { deliver } from '#test/rig/sender.ts';
import { makeTablesAt } from '#test/world/tables.ts';

const limit = 60;
const env = { RATE_LIMIT_MAX: String(limit), RATE_LIMIT_WINDOW: '600', NODE_OPTIONS: withWorld.join(' ') };
/** Returns a different client address for each number. */
const clientOf = (number: number) => `127.1.${Math.floor(number / 250)}.${(number % 250) + 1}`;

const noPrograms = !(has('nginx') && has('redis-server')) && 'nginx or redis-server is not installed';
t.test('behind nginx', { skip: noPrograms }, async t => {
  const cluster = await openCluster(t, { env });
  await makeTablesAt(cluster.databaseUrl);

  t.test('a client has one limit on all servers, by its address and not by X-Forwarded-For', async t => {
    const [busy, other] = ['127.0.0.2', '127.0.0.3'];
    const url = `${cluster.url}/api/users?limit=1`;
    const answers = await Promise.all(
      Array.from({ length: limit + 15 }, (_, i) =>
        ask(url, { from: busy, headers: { 'x-forwarded-for': `10.0.0.${i}` } }),
      ),
    );
    t.equal(answers.filter(({ status }) => status === 200).length, limit);
    t.equal(answers.filter(({ status }) => status === 429).length, 15);
    t.equal((await ask(url, { from: other })).status, 200, 'another client is not limited');
    // Each server counted a request for the address of the client.
    for (const { name } of cluster.servers)
      t.ok(cluster.logIncludes(name, `"address":"${busy}"`), `${name} saw the client's address`);
  });

  t.test('signed bodies arrive byte for byte', async t => {
    const from = '127.0.0.4';
    const send = (body: string, headers = {}) => deliver(cluster.url, body, { from, headers });
    const event = (id: string) => paymentEvent({ id, customer: 'cus_bytes' });
    const odd = `\r\n\t ${JSON.stringify(event('evt_odd'), null, 3)}\n\n`.replace(
      'Ada',
      'Ад\u00e4 \u{1F30D}',
    );
    t.match(await send(odd), { status: 200, text: 'OK' });
    const large = JSON.stringify({ ...event('evt_large'), filler: 'ä'.repeat(1_000_000) });
    t.match(await send(large), { status: 200 });
    const chunked = { 'transfer-encoding': 'chunked' };
    t.match(await send(JSON.stringify(event('evt_chunked')), chunked), { status: 200 });
    // The service refuses the first length, and nginx the second.
    for (const length of [2_500_000, 4_000_000])
      t.match(await send('x'.repeat(length)), { body: { error: { status: 413 } } });
    await until('a worker activates the subscription', async () => {
      const { body } = await ask(`${cluster.url}/api/subscriptions/cus_bytes`, { from });
      return body.status === 'active';
    });
  });

  /**
   * Bug: `GET /api/specimens?label=<300 CJK characters>` got a Link header of 11 kB, which nginx turned into a 502. Six
   * such requests a second took all servers out of rotation, and Node's own fetch refused the longest headers.
   */
  t.test('a long request does not take a server out of rotation', async t => {
    const from = '127.0.0.8';
    const long = (characters: number) => encodeURIComponent('\u{1F600}'.repeat(characters));
    const paths = [
      `/api/specimens?label=${encodeURIComponent('漢'.repeat(300))}`,
      `/api/specimens?label=${long(500)}`,
      `/api/users?name=${long(200)}&sort=-name`,
      `/api/users?name=${long(200)}&after=`,
    ];
    for (const path of paths) {
      t.equal((await ask(cluster.url + path, { from })).status, 200, path.slice(0, 40));
      t.equal((await fetch(cluster.url + path)).status, 200, "Node's own fetch accepts the headers");
    }
    const others = await Promise.all(
      Array.from({ length: 12 }, () => ask(`${cluster.url}/api/users?limit=1`, { from })),
    );
    t.same(new Set(others.map(({ status }) => status)), new Set([200]), 'no other client is affected');
    t.notOk(cluster.logIncludes('nginx', 'too big header'));
    t.notOk(cluster.logIncludes('nginx', 'temporarily disabled'), 'all servers are still in rotation');
    const url = `${cluster.url}/api/users?limit=1`;
    const tooLong = {
      status: 431,
      headers: { 'content-type': 'application/json' },
      body: { error: { status: 431, details: { code: 'headers_too_large' } } },
    };
    for (const answer of [
      await ask(`${url}&name=${'x'.repeat(20_000)}`, { from: '127.0.0.6' }),
      await ask(url, { headers: { 'x-long': 'x'.repeat(20_000) }, from: '127.0.0.6' }),
    ])
      t.match(answer, tooLong, 'nginx refuses what is too long with the error of the service');
  });

  t.test('replacing every server under load loses neither a request nor an event', async t => {
    const load = new Load(cluster.url, 'replacing', clientOf);
    load.start(5);
    await sleep(500);
    await cluster.restartServers();
    await load.stop();
    t.comment(load.counts);
    t.match(load.counts, { refused: 0, lost: 0, wrong: 0 }, [...load.wrongAnswers].join());
    t.ok(load.customers.length > 100 && load.emails.length > 100);
    await until('every event has taken effect', () => isAllKept(cluster.databaseUrl, load));
  });

  t.test('with all servers down nginx answers 503 as the service would', async t => {
    await cluster.servers[0]?.stop('SIGKILL');
    const from = '127.0.0.7';
    const after = await Promise.all(
      Array.from({ length: 30 }, () => ask(`${cluster.url}/api/users?limit=1`, { from })),
    );
    t.same(new Set(after.map(({ status }) => status)), new Set([200]), 'one server less fails no request');
    await Promise.all(cluster.servers.slice(1).map(server => server.stop('SIGKILL')));
    const unavailable = {
      status: 503,
      headers: { 'retry-after': '1', 'content-type': 'application/json' },
      body: { error: { status: 503, details: { code: 'unavailable' } } },
    };
    for (const path of ['/api/users', '/api/users', '/api/graphql'])
      t.match(await ask(cluster.url + path), unavailable);
    await Promise.all(cluster.servers.map(server => server.start()));
    await until(
      'requests are served again',
      async () => (await ask(`${cluster.url}/api/users`)).status === 200,
    );
  });
});
