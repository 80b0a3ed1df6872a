import { existsSync, readFileSync } from 'node:fs';
import t from 'tap';

const page = readFileSync('SECURITY.md', 'utf8');

t.test('every row of the OWASP API Security Top 10 names tests that exist', async t => {
  for (let i = 1; i <= 10; i++) {
    const row = page.split('\n').find(line => line.startsWith(`| API${i}:2023`)) ?? '';
    const files = [...row.matchAll(/`(test\/[\w/.]+)`/g)].map(([, file = '']) => file);
    t.ok(files.length > 0, `API${i} names a test`);
    for (const file of files) t.ok(existsSync(file), `${file} of API${i}`);
  }
});
