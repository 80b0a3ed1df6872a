import t from 'tap';
import { ask, json } from '#test/rig/cluster/ask.ts';
import { has, openBalancer } from '#test/rig/openCluster.ts';
import { createBurrow, startPair } from '#test/rig/pair.ts';

const patch = (value: object, headers = {}) => ({ ...json(value, headers), method: 'PATCH' });

const gzip = { 'accept-encoding': 'gzip, br' };

t.test('behind nginx', { skip: !has('nginx') && 'nginx is not installed' }, async t => {
  const pair = await startPair(t, { TRUST_PROXY: '127.0.0.1' });
  const [one, two] = pair.servers;
  const balancer = await openBalancer(t, [one.port, two.port]);

  await t.test('tags stay strong, and conditions arrive', async t => {
    // The label is long enough to be worth compressing.
    const label = '二度'.repeat(240);
    const { body: burrow } = await createBurrow(balancer, 'burrow', 'Deep');
    const specimen = json({ label, burrowId: burrow.id }, { ...gzip });
    const created = await ask(`${balancer.url}/api/specimens`, specimen);
    t.match(created, { status: 201, headers: { etag: '"1"', 'content-encoding': undefined } });
    const url = `${balancer.url}${created.headers.location}`;
    for (const method of ['GET', 'HEAD']) {
      const whole = await ask(url, { method, headers: gzip });
      t.match(whole, { status: 200, headers: { etag: '"1"', 'content-encoding': undefined } });
      t.equal(whole.text === '', method === 'HEAD');
      const known = await ask(url, { method, headers: { ...gzip, 'if-none-match': 'W/"7", "1"' } });
      t.match(known, { status: 304, headers: { etag: '"1"' }, text: /^$/ });
      const excluded = await ask(url, { method, headers: { 'if-none-match': '"2"' } });
      t.match(excluded, { status: 200, headers: { etag: '"1"' } });
    }
    const changed = await ask(url, patch({ isWet: true }, { ...gzip, 'if-match': '"1"' }));
    t.match(changed, { status: 200, headers: { etag: '"2"', 'content-encoding': undefined } });
    const late = await ask(url, patch({ isWet: false }, { 'if-match': '"1"' }));
    t.match(late, { status: 412, headers: { etag: '"2"' }, text: '"code":"version_mismatch","version":2' });
    t.match(await ask(url, patch({ label: '3' }, { 'if-match': 'W/"2"' })), { status: 412 });
    const brief = await ask(url, patch({ label: '3' }, { 'if-match': '"1", "2"', prefer: 'return=minimal' }));
    t.match(brief, { status: 204, headers: { etag: '"3"', 'preference-applied': 'return=minimal' } });
    t.match(await ask(url, { method: 'DELETE', headers: { 'if-match': '"2"' } }), { status: 412 });
    t.match(await ask(url, { method: 'DELETE', headers: { 'if-match': '"3"' } }), { status: 204 });
  });

  await t.test('lists and pages are compressed, and are not sent again while they are unchanged', async t => {
    for (let i = 0; i < 20; i++)
      await createBurrow(balancer, `list-${i}`, `A label that repeats itself ${i}`);
    const assets = (await ask(`${balancer.url}/docs`)).text.matchAll(/(?:src|href)="(\/[^"]+\.(?:js|css))"/g);
    const scripts = [...assets].map(([, path = '']) => path).filter(path => /bundle|ui\.css/.test(path));
    t.ok(scripts.length >= 2, `${scripts}`);
    const query = '/api/graphql?query={burrows{label,version,id}}';
    for (const path of ['/api/burrows', query, '/docs/json', '/docs/yaml', ...scripts]) {
      const plain = await ask(balancer.url + path);
      t.match(
        plain,
        { status: 200, headers: { 'content-encoding': undefined, vary: /accept-encoding/i } },
        path,
      );
      const small = await ask(balancer.url + path, { headers: gzip });
      t.match(small, { status: 200, headers: { 'content-encoding': 'gzip' } }, path);
      // The service compresses some of /docs itself, and its Vary says so as well.
      if (!path.startsWith('/docs'))
        t.equal(small.headers.vary?.match(/accept-encoding/gi)?.length, 1, 'Vary names it once');
      t.equal(small.text, plain.text);
      t.ok(small.size < plain.size / 2, `${path}: ${plain.size} bytes became ${small.size}`);
      const { etag: tag } = small.headers;
      if (tag === undefined) continue;
      t.match(tag, /^W\//, path);
      const known = await ask(balancer.url + path, { headers: { ...gzip, 'if-none-match': tag } });
      t.match(known, { status: 304, headers: { etag: tag, vary: /accept-encoding/i }, size: 0 }, path);
    }
  });
});
