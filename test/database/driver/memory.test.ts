// runs: in its own process
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import t from 'tap';
import { createPostgres } from '#test/helper/database.ts';
import { onPostgres } from './client.ts';

t.test('what statements and transactions return is collected while it is young', onPostgres, async t => {
  const url = await createPostgres(t, { empty: true });
  const aging = new URL('aging.ts', import.meta.url).pathname;
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', aging, url], {
    env: { PATH: process.env.PATH },
  });
  const { statement, transaction } = JSON.parse(stdout);
  t.ok(statement < 1, `1000 statements: ${statement} MB`);
  t.ok(transaction < 1, `1000 transactions: ${transaction} MB`);
});
