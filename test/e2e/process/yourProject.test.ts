// runs: long, patient
import { appendFileSync, globSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { blocksOf, command, copyProject, succeeds, write } from '#test/docs/handbook.ts';
import { createPostgres } from '#test/helper/database.ts';
import { call, runCommand, startService } from '#test/rig/process.ts';

const page = 'docs/your-project.md';
const main = copyProject();
/** A project that somebody has cloned. */
const clone = `${main}-clone`;
t.teardown(() => {
  for (const folder of [main, clone]) rmSync(folder, { recursive: true, force: true });
});
const inMain = (t: Test, ...lines: string[]) => inFolder(t, main, lines);
const inClone = (t: Test, ...lines: string[]) => inFolder(t, clone, lines);
async function inFolder(t: Test, folder: string, lines: string[]): Promise<void> {
  for (const line of lines) await succeeds(t, line, folder);
}
const commit = (message: string) => ['git add -A', `git commit -qm '${message}'`];
const identity = ['git config user.email dev@example.com', 'git config user.name Dev'];
/** Keeps the link to the shared packages out of commits. */
const ignored = `echo node_modules >> .git/info/exclude`;

/** Follows a section of the page. What it installs is installed already; checks and tests come at the end. */
async function follow(t: Test, section: string): Promise<void> {
  const blocks = blocksOf(page, section);
  t.ok(blocks.length > 0, section);
  for (const block of blocks)
    if (block.file) t.doesNotThrow(() => write(clone, block), block.file);
    else
      for (const line of block.text.trim().split('\n')) {
        if (line.startsWith('git add')) t.same(await conflicts(), [], 'nothing is left to be joined by hand');
        if (line === 'npm install') await inClone(t, 'npm install --package-lock-only');
        else if (!['npm run check', 'npm test'].includes(line)) await inClone(t, line);
      }
}

/** Returns the files with conflicts that are written by hand. */
async function conflicts(): Promise<string[]> {
  const { output } = await command('git diff --name-only --diff-filter=U', clone);
  const made = /^(openapi\.yaml|schema\.graphql|package-lock\.json|drizzle\/migrations\/meta\/.*)$/;
  return output.split('\n').filter(path => path !== '' && !made.test(path));
}

t.test('a clone is renamed, loses posts, and gets a README and a resource of its own', async t => {
  await inMain(t, 'git init -qb main', ...identity, ignored, ...commit('First'));
  await inMain(t, `git clone -q . ${clone}`);
  symlinkSync(join(main, 'node_modules'), join(clone, 'node_modules'));
  await inClone(t, ...identity, ignored);
  for (const section of ['1. ', '2. ', '3. ']) await follow(t, section);
  await inClone(t, ...commit('Ours'));
  await inClone(t, 'git checkout -qb payments');
  await inClone(t, 'npm run new -- payment --belongs-to user --fields amount:cents');
  await inClone(t, ...commit('Payments'), 'git checkout -q main');
  await follow(t, '4. ');
  await inClone(t, ...commit('Invoices'));
  const { output } = await command(
    `git grep -lwE 'posts|Post|authorId' -- . ':!CHANGELOG.md' ':!${page}' ':!drizzle/migrations' ':!*/yourProject.test.ts'`,
    clone,
  );
  t.equal(output, '', 'nothing mentions posts');
});

const url = await createPostgres(t, { empty: true });
/** Brings the database up to date, as a deployment does. */
const deploy = async (t: Test) =>
  t.match(await runCommand(join(clone, 'scripts/migrate.ts'), [], { DATABASE_URL: url }), {
    code: 0,
    err: '',
  });

t.test('two branches with a resource each are merged', async t => {
  await deploy(t);
  await follow(t, '5. ');
  await deploy(t);
  const { output } = await command('npm run -s migration', clone);
  t.match(output, 'No schema changes', 'the snapshot has the tables of both');
});

/** Makes a release: changes twenty files of the service and the README, adds a dependency and a table's migration. */
async function release(t: Test): Promise<void> {
  const files = globSync('{src,plugins}/**/*.ts', { cwd: main }).filter(path => !path.includes('/domain/'));
  for (const path of files
    .toSorted()
    .filter((_, i) => i % 8 === 0)
    .slice(0, 20)) {
    const text = readFileSync(join(main, path), 'utf8');
    writeFileSync(join(main, path), text.replace('\n', '\n// Changed by a release.\n'));
  }
  for (const path of ['README.md', 'CHANGELOG.md']) appendFileSync(join(main, path), '\nA release.\n');
  const table = join(main, 'drizzle/tables/service/identities.ts');
  const text = readFileSync(table, 'utf8');
  writeFileSync(
    table,
    text.replace("index('", "index('identities_release_index').on(table.subject),\n    index('"),
  );
  await inMain(t, 'npm run migration -- --name release', 'npm version 0.2.0 --no-git-tag-version');
  // The dependency is one that another package brings, so the registry is not needed.
  const { packages } = JSON.parse(readFileSync(join(main, 'package-lock.json'), 'utf8'));
  const { version } = packages['node_modules/sonic-boom'];
  await inMain(
    t,
    `npm pkg set dependencies.sonic-boom=${version}`,
    'npm install --package-lock-only --offline',
  );
  appendFileSync(join(main, 'ARCHITECTURE.md'), '- `sonic-boom`: a release needs it\n');
  await inMain(t, 'npx biome check --write drizzle', 'npm run generate', ...commit('Release'));
}

t.test('a release of ours is merged', async t => {
  await release(t);
  await follow(t, '6. ');
  await deploy(t);
  const { name, version, dependencies } = JSON.parse(readFileSync(join(clone, 'package.json'), 'utf8'));
  t.match(
    { name, version, dependencies },
    { name: 'ledgerly', version: '0.2.0', dependencies: { 'sonic-boom': /./ } },
  );
  t.match(readFileSync(join(clone, 'README.md'), 'utf8'), /^# Ledgerly\n\nInvoices.*\n$/);
});

t.test('what came out passes its tests, and serves', async t => {
  await inClone(t, 'npm run check', 'npm test -- postgres test/domain');
  const script = join(clone, 'src/main.ts');
  const service = await startService(t, { DATABASE_URL: url }, { script });
  t.match((await call(service, 'GET', '/')).body, { name: 'ledgerly', version: '0.2.0' });
  for (const [path, status] of Object.entries({ posts: 404, invoices: 200, payments: 200 }))
    t.equal((await call(service, 'GET', `/api/${path}`)).status, status, path);
  const doctor = await runCommand(join(clone, 'scripts/doctor.ts'), [], { DATABASE_URL: url });
  t.match(doctor.out, /ok +The database has the rights, migrations/);
  const repaired = await runCommand(join(clone, 'scripts/repair.ts'), [], { DATABASE_URL: url });
  t.match(repaired, { code: 0, err: '' });
  t.notMatch(repaired.out, 'posts', 'the totals of posts are forgotten');
});
