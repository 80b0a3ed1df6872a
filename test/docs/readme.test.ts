import { existsSync, readFileSync } from 'node:fs';
import t from 'tap';
import { build } from '../helper/app.ts';
import { backend } from '../helper/database.ts';
import { blocksOf, command } from '../helper/handbook.ts';

const pages = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];
const hasCurl = (await command('curl --version')).code === 0;
const skip =
  (backend === 'postgres' && 'the README shows the embedded backend') ||
  (!hasCurl && 'curl is not installed');

t.test('the commands of README.md answer what it says they do', { skip }, async t => {
  const { app } = await build(t);
  const origin = await app.listen({ port: 0, host: '127.0.0.1' });
  const blocks = blocksOf('README.md').filter(({ kind }) => ['sh', 'json', 'http'].includes(kind));
  const separator = 'next block';
  const lines = blocks.map(({ kind, text }) => (kind === 'sh' ? `echo; echo '${separator}'\n${text}` : ''));
  const { said } = await command(lines.join('').replace(/http:\/\/127\.0\.0\.1:3000/g, origin));
  const answers = said.split(`${separator}\n`).slice(1);

  let last = '';
  for (const { kind, text } of blocks) {
    if (kind === 'sh') last = answers.shift()?.trim().replaceAll('\r', '') ?? '';
    else if (kind === 'json') t.same(JSON.parse(anonymous(last)), JSON.parse(anonymous(text)), last);
    else {
      const [head = '', body] = anonymous(text.trim()).split('\n\n');
      const [realHead = '', realBody] = anonymous(last).split('\n\n');
      for (const line of head.split('\n')) t.ok(realHead.split('\n').includes(line), line);
      t.equal(realBody, body);
    }
  }
  t.equal(answers.length, 0, 'every command was run');
});

/** Without what differs each time: ids, moments. */
const anonymous = (text: string) =>
  text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>');

t.test('every file that the pages link to is there', async t => {
  for (const page of pages)
    for (const [, path = ''] of readFileSync(page, 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g))
      t.ok(existsSync(path), `${page} links to ${path}`);
});

t.test('every dependency has its reason in ARCHITECTURE.md', async t => {
  const text = readFileSync('ARCHITECTURE.md', 'utf8');
  const rows = text.split('## Dependencies')[1]?.matchAll(/^\| (`.*?) +\|/gm) ?? [];
  const told = [...rows].flatMap(([, cell = '']) => cell.split(', ').map(name => name.replaceAll('`', '')));
  const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  t.same(told.sort(), Object.keys({ ...dependencies, ...devDependencies }).sort());
});
