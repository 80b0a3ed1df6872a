import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { build } from '../helper/app.ts';
import { makeProject, problemsOf, writeClient } from '../helper/clientProject.ts';
import { backend } from '../helper/database.ts';
import { cut, fail, lose, pass, refuse, serveBehind } from '../helper/servers/lossyProxy.ts';
import { blocksOf, command, runBlocks } from './handbook.ts';

t.setTimeout(120_000);
const page = 'docs/client.md';
const files = [page, 'docs/safe-writes.md', 'README.md'].flatMap(each =>
  blocksOf(each).filter(({ file }) => file),
);

/** The project of the guide, whose files call the service at this origin. */
async function writeProject(t: Test, origin: string): Promise<string> {
  const folder = makeProject(t);
  await writeClient(t, join(folder, 'api'));
  for (const { file, text } of files)
    writeFileSync(join(folder, file), text.replaceAll('http://127.0.0.1:3000', origin));
  return folder;
}

const skip = backend === 'postgres' && 'the database makes no difference';

t.test('the files of docs/client.md compile strictly, and print what the page shows', { skip }, async t => {
  const { app } = await build(t);
  const origin = await app.listen({ port: 0, host: '127.0.0.1' });
  const folder = await writeProject(t, origin);
  t.equal(await problemsOf(folder), '');
  await runBlocks(t, page, origin, { folder });
});

t.test('the example of the README compiles and runs', { skip }, async t => {
  const { app, call } = await build(t);
  const folder = await writeProject(t, await app.listen({ port: 0, host: '127.0.0.1' }));
  const example = blocksOf('README.md').find(({ kind }) => kind === 'ts')?.file;
  t.match(await command(`node ${example}`, folder), { code: 0, output: /^[0-9a-f-]{36}\n$/ });
  t.match(await command(`node ${example}`, folder), { code: 0, output: /^email_taken \/email\n$/ });
  t.equal((await call('GET', '/api/users', 200)).body.data.length, 1);
});

t.test('the client of the guide creates one record, however often the answer is lost', { skip }, async t => {
  const { app, call } = await build(t);
  const service = await app.listen({ port: 0, host: '127.0.0.1' });
  const proxy = await serveBehind(t, service, [lose, cut, refuse, fail, pass]);
  const folder = await writeProject(t, proxy.origin);
  t.match(await command('node retrying.ts', folder), {
    code: 0,
    output: 'Barbara Liskov was created once\n',
  });
  t.equal(proxy.count(), 5);
  t.equal((await call('GET', '/api/users', 200)).body.data.length, 1);
});
