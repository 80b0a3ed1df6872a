// runs: long, patient
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { blocksOf, command, missingPackage, runBlocks, succeeds } from '#test/docs/handbook.ts';
import { makeKey } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { serve } from '#test/helper/servers/serve.ts';
import { makeFolder } from '#test/rig/process.ts';

const page = 'docs/client.md';

/** Lines that must not compile, each after a directive: the compiler reports a directive whose line compiles. */
const mistakes = `
import { createUser, deleteUser, listUsers } from './client.js';

// @ts-expect-error a member that does not exist
await createUser({ body: { name: 'Ada', email: 'ada@example.com', staus: 'draft' } });
// @ts-expect-error a parameter of another path
await deleteUser({ path: { key_id: '1' } });
// @ts-expect-error a filter that does not exist
await listUsers({ query: { eamil: '1' } });
const { error } = await createUser({ body: { name: 'Ada', email: 'ada@example.com' } });
// @ts-expect-error a status that the operation does not answer
if (error?.error.status === 404) throw error;
`;

/** Returns the samples of the document: test/docs/operations.test.ts checks what they send. */
function samplesIn({ paths }: { paths: Record<string, object> }): string {
  const operations = Object.values(paths).flatMap(item => Object.values(item));
  const samples = operations.flatMap(operation => operation['x-codeSamples']);
  const sources = samples.filter(({ lang }) => lang === 'TypeScript').map(({ source }) => source);
  return `declare const key: string;\nexport {};\n${sources.map(source => `{\n${source}\n}`).join('\n')}`;
}

const missing = await missingPackage('@hey-api/openapi-ts');
const skip = !process.env.CI && missing;

t.test('the client of docs/client.md calls the service, and no mistake compiles', { skip }, async t => {
  if (missing) return t.fail(missing);
  const folder = makeFolder(t);
  const { app, call, database } = await build(t, { settings: { AUTH_MODE: 'required' } });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const { key } = await makeKey(database, ['write']);
  for (const { file, text } of [page, 'docs/safe-writes.md'].flatMap(each => blocksOf(each)))
    if (file) writeFileSync(join(folder, file), text.replaceAll('http://127.0.0.1:3000', url));
  writeFileSync(join(folder, 'mistakes.ts'), mistakes);
  writeFileSync(join(folder, 'samples.ts'), samplesIn((await call('GET', '/docs/json', 200)).body));
  await runBlocks(t, page, url, { folder, variables: { API_KEY: key } });
  await succeeds(t, 'npx gql.tada check', folder);

  const proxy = await serve(t, (_, response) => response.writeHead(502).end('<h1>Bad Gateway</h1>'));
  const unread = `import { listUsers } from './client.js';
    for (const baseUrl of ['${proxy.url}', '${url}'])
      await listUsers({ baseUrl, headers: { 'If-None-Match': '*' } }).catch(error => console.log(error.message));`;
  writeFileSync(join(folder, 'dist/unread.js'), unread);
  const { output } = await command(`API_KEY=${key} node dist/unread.js`, folder);
  t.equal(output, 'No answer of the service: 502\nNo answer of the service: 304\n');
});
