// runs: long, patient
import { rmSync } from 'node:fs';
import t from 'tap';
import { blocksOf, copyProject, succeeds, write } from '#test/docs/handbook.ts';

const page = 'docs/your-project.md';
const folder = copyProject();
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

t.test('with another name, and users alone, all tests are green', async t => {
  // The commands of the last section end with `npm test`.
  const blocks = ['1. ', '2. ', '3. '].flatMap(section => blocksOf(page, section));
  t.ok(blocks.length > 7, 'there are steps');
  for (const { file, kind, text } of blocks)
    if (file) t.doesNotThrow(() => write(folder, { file, kind, text }), file);
    else for (const line of text.trim().split('\n')) await succeeds(t, line, folder);
});
