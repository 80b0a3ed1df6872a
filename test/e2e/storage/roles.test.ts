// runs: long
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { serviceName } from '#schemas/name.ts';
import { main as doctor } from '#scripts/doctor.ts';
import { run as runInside } from '#test/helper/command.ts';
import { createPostgres } from '#test/helper/database.ts';
import { oldRows } from '#test/helper/events/oldRows.ts';
import { queryPostgres } from '#test/rig/cluster/postgres.ts';
import { createServingRole } from '#test/rig/deploy/servingRole.ts';
import { has } from '#test/rig/openCluster.ts';
import { call, makeFolder, runCommand, spawnService, startService, until } from '#test/rig/process.ts';
import { all, pay, secrets, total } from '#test/rig/sender.ts';

const skip = !has('psql') && 'psql is not installed';

/** Makes an empty database whose owner is no superuser, and names a serving role, which does not exist yet. */
async function makeRoles(t: Test) {
  const url = await createPostgres(t, { empty: true });
  const suffix = randomBytes(4).toString('hex');
  const [owner, service] = [`owner_${suffix}`, `service_${suffix}`];
  await queryPostgres(url, `create role ${owner} login createrole password 'choose one'`);
  await queryPostgres(url, `alter database ${new URL(url).pathname.slice(1)} owner to ${owner}`);
  t.teardown(async () => {
    await queryPostgres(url, `drop owned by ${service}, ${owner} cascade`);
    await queryPostgres(url, `alter database ${new URL(url).pathname.slice(1)} owner to current_user`);
    await queryPostgres(url, `drop role ${service}, ${owner}`);
  });
  const as = (username: string) => Object.assign(new URL(url), { username, password: 'choose one' }).href;
  const grant = () => createServingRole(t, as(owner), 'choose one', service);
  return { owner, service, ownerUrl: as(owner), serviceUrl: as(service), grant };
}

t.test('the serving role of deploy/ serves what the owner has migrated', { skip }, async t => {
  const { owner, service, ownerUrl, serviceUrl, grant } = await makeRoles(t);
  const { err } = await runCommand('scripts/migrate.ts', [], { DATABASE_URL: ownerUrl });
  t.equal(err, '');
  await grant();
  await queryPostgres(ownerUrl, oldRows.join(';'));
  const env = { DATABASE_URL: serviceUrl, WEBHOOK_SECRETS: secrets, WORKER: 'apart' };
  const [server, worker] = [await startService(t, env), spawnService(t, env, 'src/worker.ts')];
  const run = (script: string, ...args: string[]) => runCommand(`scripts/${script}.ts`, args, env);

  await t.test('records, totals and their folds', async t => {
    const ada = { name: 'Ada', email: 'ada@example.com' };
    const { body: user } = await call(server, 'POST', '/api/users', ada);
    t.equal((await call(server, 'PATCH', `/api/users/${user.id}`, { name: 'Ada King' })).status, 200);
    t.equal((await call(server, 'DELETE', `/api/users/${user.id}`)).status, 204);
    t.match(await run('seed', 'users=6000'), { code: 0, err: '' });
    t.equal(await total(server.url, '/api/users'), 6000);
    await until('the log is empty', async () => {
      const [row] = await queryPostgres(ownerUrl, 'select count(*)::int as n from list_log');
      return row?.n === 0;
    });
    t.equal(await total(server.url, '/api/users'), 6000);
    t.match(await run('repair'), { code: 0, err: '' });
    t.ok((await all(server.url, '/api/audit')).some(({ action }) => action === 'user.delete'));
  });
  await t.test('a webhook, which the worker processes', async t => {
    t.equal(await pay(server.url, 'evt_1', 'cus_1'), 200);
    await until('it is processed', async () => (await total(server.url, '/api/subscriptions')) === 1);
    t.match(await all(server.url, '/api/subscriptions'), [{ customer: 'cus_1', status: 'active' }]);
  });
  await t.test('trimming', () =>
    until('all are trimmed', () =>
      ['webhook events', 'idempotency keys', 'audit log entries'].every(what =>
        worker.lines.some(({ msg }) => msg === `Trimmed 1 ${what}.`),
      ),
    ),
  );
  await t.test('commands, and what the role may not do', async t => {
    const { code, out } = await run('keys', 'create', '--name', 'shop');
    t.equal(code, 0);
    t.match(out, new RegExp(`^${serviceName}_`));
    await queryPostgres(ownerUrl, `revoke insert on api_keys from ${service}`);
    const refused = await run('keys', 'create', '--name', 'shop');
    t.equal(
      refused.err,
      'The role of DATABASE_URL lacks a right: permission denied for table api_keys. `npm run doctor` names the missing grants.\n',
    );
    await queryPostgres(ownerUrl, `grant insert on api_keys to ${service}`);
    const backup = await run('backup', join(makeFolder(t), 'backup'));
    t.equal(backup.code, 1);
    t.match(backup.err, /needs the rights of the role that migrates/);
    const spread = await run('migrate', '--spread');
    t.match(spread.err, /has no Citus/);
    for (const statement of [
      'create table mine (id int)',
      'drop table users',
      'truncate users cascade',
      'alter table audit_log disable trigger all',
      'delete from drizzle.__drizzle_migrations',
    ])
      await t.rejects(queryPostgres(serviceUrl, statement), { code: '42501' }, statement);
  });
  await t.test('what a later migration of the owner creates', async t => {
    await queryPostgres(ownerUrl, 'alter default privileges revoke execute on functions from public');
    await queryPostgres(
      ownerUrl,
      `create table later (id serial); create function list_later() returns int language sql return 1`,
    );
    await queryPostgres(serviceUrl, 'insert into later default values; select list_later()');
    t.notMatch((await runInside(doctor, ['--json'], env)).out, '"code": "rights"');
  });
  await t.test('when a migration is missing, the process says who runs it', async t => {
    await queryPostgres(
      ownerUrl,
      'delete from drizzle.__drizzle_migrations where id = (select max(id) from drizzle.__drizzle_migrations)',
    );
    const late = spawnService(t, env);
    t.equal(await late.ended, 1);
    t.match(
      late.errors(),
      new RegExp(
        `^The role \\w+ may not migrate .*permission denied.*: run \`npm run migrate\` as the role ${owner}\\. [^\n]*\n$`,
      ),
    );
    // A busy machine may take longer to connect than the first check waits.
    const expected = /^(AUTH_MODE is open|The database is out of reach)/;
    const said = late.lines.filter(({ level, msg }) => level >= 40 && !expected.test(msg));
    t.same(said, [], 'nothing else');
    const { out } = await runInside(doctor, ['--json'], env);
    t.match(out, /"code": "migrations",\s+"text": "Migrations are pending \(\w+\)/);
  });
  t.same(
    [server, worker].flatMap(({ lines }) => lines.filter(({ level }) => level >= 50)),
    [],
    'no error in a log',
  );
});

t.test('on an empty database, the owner of the database migrates', async t => {
  const { owner, service, ownerUrl, serviceUrl } = await makeRoles(t);
  await queryPostgres(ownerUrl, `create role ${service} login password 'choose one'`);
  const { code, err } = await runCommand('scripts/migrate.ts', [], { DATABASE_URL: serviceUrl });
  t.equal(code, 1);
  t.match(err, new RegExp(`^The role ${service} may not .* as the role ${owner}\\. [^\n]*\n$`));
});
