// runs: long
import { rmSync } from 'node:fs';
import t from 'tap';
import { blocksOf, copyProject, succeeds, write } from '../docs/handbook.ts';

const page = 'docs/your-project.md';
const folder = copyProject();
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

t.test('all tests are green with another name, and with a resource of its own in place of posts', async t => {
  // The commands of the second section end with `npm test`.
  const blocks = ['1. ', '3. ', '4. ', '2. '].flatMap(section => blocksOf(page, section));
  t.ok(blocks.length > 8, 'there are steps');
  for (const { file, kind, text } of blocks)
    if (file) t.doesNotThrow(() => write(folder, { file, kind, text }), file);
    else for (const line of text.trim().split('\n')) await succeeds(t, line, folder);
});
