// runs: long
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import { queryPostgres } from '#test/rig/cluster/postgres.ts';
import { ofKind } from '#test/rig/deploy/manifests.ts';
import { createServingRole } from '#test/rig/deploy/servingRole.ts';
import { call, makeFolder, startService } from '#test/rig/process.ts';
import { bin, contentsOf, fill, skip, startInstalled } from './contents.ts';

/** Runs the backup of deploy/ in a folder, with the command and the variables of its manifest. */
function runDump(folder: string, url: string, env: NodeJS.ProcessEnv) {
  const [{ command, env: given }] = ofKind('CronJob')[0].spec.jobTemplate.spec.template.spec.containers;
  const variables = given.map(({ name, value }: { name: string; value: string }) => [name, value]);
  const DATABASE_URL_FILE = join(folder, 'url');
  writeFileSync(DATABASE_URL_FILE, `${url}\n`);
  const args = command.map((each: string) => each.replace('/etc/triport', resolve('deploy/kubernetes')));
  const { status, stderr } = spawnSync(args[0], args.slice(1), {
    cwd: folder,
    env: { ...Object.fromEntries(variables), ...env, DATABASE_URL_FILE },
    encoding: 'utf8',
  });
  return { status, stderr, dumps: readdirSync(folder).filter(name => name.endsWith('.dump')) };
}

t.test(
  'a dump of deploy/ is restored into an empty database, which the serving role serves',
  { skip },
  async t => {
    const [{ DATABASE_URL: from, PATH }, { DATABASE_URL: to }] = [
      await startInstalled(t),
      await startInstalled(t),
    ];
    const service = await fill(t, { DATABASE_URL: from });
    await service.kill('SIGTERM');
    const contents = await contentsOf(t, { DATABASE_URL: from });
    const folder = makeFolder(t);

    const dumped = runDump(folder, from, { PATH });
    const [dump = ''] = dumped.dumps;
    t.match(dumped, { status: 0, stderr: '', dumps: [/^triport-\d{4}-\d\d-\d\dT[\d-]+Z\.dump$/] });
    t.equal(statSync(join(folder, dump)).mode & 0o777, 0o600, 'only its owner may read it');

    await createServingRole(t, to, 'choose one');
    t.match(runDump(folder, to, { PATH, RESTORE: dump }), { status: 0, stderr: '' });
    t.same(await contentsOf(t, { DATABASE_URL: to }), contents);
    t.match(runDump(folder, to, { PATH, RESTORE: dump }), { status: 1, stderr: /already exists/ });
    const DATABASE_URL = to.replace('triport@', 'triport_service:choose%20one@');
    const restored = await startService(t, { DATABASE_URL });
    t.match(await call(restored, 'GET', '/api/users'), { status: 200, body: { meta: { total: 30 } } });
    const ada = { name: 'Ada', email: 'ada@example.com' };
    t.equal((await call(restored, 'POST', '/api/users', ada)).status, 201);
  },
);

t.test('old dumps go only after a new one was read back', { skip }, async t => {
  const { DATABASE_URL: url, PATH = '' } = await startInstalled(t);
  await queryPostgres(url, 'create table notes as select md5(n::text) from generate_series(1, 1000) as n');
  const [folder, programs] = [makeFolder(t), makeFolder(t)];
  const old = 'triport-2020-01-01T02-17-00Z.dump';
  writeFileSync(join(folder, old), 'old');
  utimesSync(join(folder, old), 0, 0);
  // This `pg_dump` writes a dump that is cut off, but has a whole list of contents.
  const broken = `#!/bin/bash
    echo "$PGPASSWORD $1" > arguments
    ${join(bin, 'pg_dump')} "$@" && truncate --size=-100 unfinished.*`;
  writeFileSync(join(programs, 'pg_dump'), broken, { mode: 0o755 });
  const secret = url.replace('triport@', String.raw`triport:p@a\n%25@`);
  t.match(runDump(folder, secret, { PATH: `${programs}:${PATH}` }), { status: 1, stderr: /./, dumps: [old] });
  t.equal(readFileSync(join(folder, 'arguments'), 'utf8').trim(), String.raw`p@a\n% --dbname=${url}`);
  const { status, dumps } = runDump(folder, secret, { PATH });
  t.match({ status, dumps: dumps.length }, { status: 0, dumps: 1 });
  t.notOk(dumps.includes(old));
});
