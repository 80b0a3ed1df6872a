import { rmSync } from 'node:fs';
import t from 'tap';
import { blocksOf, command, copyProject, write } from '../helper/handbook.ts';

// The type check, the migration and the tests of the new resource take a while on a busy machine.
t.setTimeout(235_000);

t.test('the steps of CONTRIBUTING.md add a new resource', async t => {
  const steps = blocksOf('CONTRIBUTING.md', 'Add a resource');
  t.ok(steps.length > 10, 'there are steps');
  const folder = copyProject();
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const step of steps)
    if (step.file) t.doesNotThrow(() => write(folder, step), step.file);
    else
      for (const line of step.text.trim().split('\n')) {
        const { code, output } = await command(line, folder);
        t.equal(code, 0, `${line}${code === 0 ? '' : `\n${output}`}`);
      }
});

t.test('a step that does not fit the code is an error', async t => {
  const folder = t.testdir({ 'a.ts': 'one();\ntwo();\n' });
  const step = (text: string, kind = 'diff') => ({ kind, file: 'a.ts', text });
  t.throws(() => write(folder, step(' three();\n+four();\n')), /a\.ts must have this once, not 0 times/);
  t.throws(() => write(folder, step('one();\n', 'ts')), /a\.ts is there already/);
});
