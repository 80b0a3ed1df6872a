import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { build } from '../helper/app.ts';
import { makeProject, problemsOf, writeClient } from '../helper/clientProject.ts';
import { backend } from '../helper/database.ts';
import { blocksOf, runBlocks, succeeds } from './handbook.ts';

t.setTimeout(120_000);
const page = 'docs/client.md';
const skip = backend === 'postgres' && 'the database makes no difference';

/** Follows a section's commands in a project, except those that install: the packages are there. */
async function follow(t: Test, folder: string, page: string, heading: string): Promise<void> {
  const lines = blocksOf(page, heading).flatMap(({ kind, text }) => (kind ? [] : text.trim().split('\n')));
  for (const line of lines.filter(line => /^(npm (init|pkg)|npx|node) /.test(line)))
    await succeeds(t, line, folder);
}

/** Writes the files of pages, which call the service at this origin. */
function writeFiles(folder: string, origin: string, ...pages: string[]): void {
  for (const { file, text } of pages.flatMap(each => blocksOf(each)).filter(({ file }) => file))
    writeFileSync(join(folder, file), text.replaceAll('http://127.0.0.1:3000', origin));
}

/** The project of docs/client.md, which uses a function of docs/safe-writes.md. */
const guide = makeProject(t);
if (!skip) {
  await writeClient(t, join(guide, 'api'));
  await follow(t, guide, page, 'Install');
}

t.test('the files of docs/client.md compile strictly, and print what the page shows', { skip }, async t => {
  const { app } = await build(t);
  const origin = await app.listen({ port: 0, host: '127.0.0.1' });
  writeFiles(guide, origin, page, 'docs/safe-writes.md');
  t.equal(await problemsOf(guide), '');
  await runBlocks(t, page, origin, { folder: guide });
});
