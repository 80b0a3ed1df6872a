import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { build } from '#test/helper/app.ts';
import { cut, fail, lose, pass, refuse, serveBehind } from '#test/helper/servers/lossyProxy.ts';
import { makeFolder } from '#test/rig/process.ts';
import { blocksOf } from './handbook.ts';

type Send = (url: string, key: string, init: RequestInit, attempts?: number) => Promise<Response>;

/** Imports the function that the guide shows. */
async function sendOfGuide(t: Test): Promise<Send> {
  const block = blocksOf('docs/safe-writes.md').find(({ file }) => file === 'retry.ts');
  const path = join(makeFolder(t), 'retry.ts');
  writeFileSync(path, block?.text ?? '');
  return (await import(pathToFileURL(path).href)).send;
}

const post = (email: string) => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ name: 'Ada', email }),
});

t.test(
  'the retry loop of docs/safe-writes.md creates one record, however often the answer is lost',
  async t => {
    const send = await sendOfGuide(t);
    const { app, call } = await build(t);
    const service = await app.listen({ port: 0, host: '127.0.0.1' });

    const lossy = await serveBehind(t, service, [lose, cut, refuse, fail, pass]);
    const created = await send(`${lossy.origin}/api/users`, 'key-1', post('ada@example.com'));
    t.equal(created.status, 201);
    t.equal(created.headers.get('idempotency-replayed'), 'true');
    t.equal(lossy.count(), 5);
    const { data } = (await call('GET', '/api/users', 200)).body;
    t.same(data, [await created.json()]);

    const clear = await serveBehind(t, service, [pass, pass]);
    t.equal((await send(`${clear.origin}/api/users`, 'key-2', post('ada@example.com'))).status, 409);
    t.equal(clear.count(), 1, 'an answer that will not change is returned at once');

    const gone = await serveBehind(t, service, [lose, lose, lose]);
    await t.rejects(send(`${gone.origin}/api/users`, 'key-3', post('bea@example.com'), 2));
    t.equal(gone.count(), 2, 'it gives up');
  },
);
