// runs: long, patient
import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, globSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { command, copyProject } from '#test/docs/handbook.ts';
import { until } from '#test/rig/process.ts';

const folder = copyProject();
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
const files = () => {
  const paths = globSync(['*.*', '{docs,drizzle,plugins,schemas,src,test}/**/*.*'], { cwd: folder });
  return Object.fromEntries(paths.map(path => [path, readFileSync(join(folder, path), 'utf8')]));
};

t.test('what a step refuses is said in a sentence, and everything is as it was', async t => {
  // Work that is in no commit must stay, too.
  appendFileSync(join(folder, 'src/domain/resources.ts'), '// Begun.\n');
  const before = files();
  for (const [given, reason] of [
    [
      'resource --fields text',
      'The file src/domain/resources.ts already exists: choose another name or --plural.',
    ],
    ['class --fields text', 'export const class = '],
    [
      'thing --fields sort',
      "Error: 'sort' cannot be a filter of Thing: every list has a parameter of this name.",
    ],
    [
      "remark --belongs-to 'parent=remark?' --fields remarks",
      'Field "Remark.remarks" can only be defined once.',
    ],
    [
      'listTable --fields text',
      /The migration \d+_list_tables cannot be applied: relation "list_tables" already exists/,
    ],
  ] as const) {
    const { code, output } = await command(`npm run -s new -- ${given}`, folder);
    t.match({ code, output }, { code: 1, output: reason });
    t.notMatch(output, /\n +at /, 'without a stack');
    t.same(files(), before, given);
  }
});

t.test('Ctrl-C undoes what was begun', async t => {
  const before = files();
  // `detached` makes a group whose processes all get the signal, as in a terminal.
  const options = { cwd: folder, detached: true, stdio: ['ignore', 'ignore', 'pipe'] } as SpawnOptions;
  const child = spawn('npm', ['run', 'new', '--', 'thing', '--fields', 'text'], options);
  await until('a file is written', () => existsSync(join(folder, 'schemas/thing.ts')), 60);
  process.kill(-(child.pid ?? 0), 'SIGINT');
  const [[code], said] = await Promise.all([once(child, 'exit'), text(child.stderr as Readable)]);
  t.not(code, 0);
  t.match(said, 'Stopped by SIGINT.\nEverything is as it was.');
  t.same(files(), before);
});
