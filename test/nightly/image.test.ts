// runs: long, patient
import { readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { parse, parseAllDocuments } from 'yaml';
import { serviceTitle } from '#schemas/name.ts';
import { createPostgres } from '#test/helper/database.ts';
import { answers } from '#test/rig/cluster/part.ts';
import { buildImage, type Image, reasonAgainstImages } from '#test/rig/deploy/image.ts';
import { until } from '#test/rig/process.ts';
import { freePort } from '#test/rig/servers/ports.ts';

const skip = reasonAgainstImages() ?? false;

/** Bounds that are exceeded when something large is added; docs/running-many.md has the figures. */
const mostModules = 90e6;
const mostSource = 3e6;
const mostCompiled = 15e6;

t.test('the image of deploy/Dockerfile', { skip }, async t => {
  const dockerfile = readFileSync('deploy/Dockerfile', 'utf8');
  const versions = [...dockerfile.matchAll(/^FROM node:([\d.]+)/gm)].map(([, version]) => `v${version}`);
  t.same(versions, [process.version, process.version], 'the Node of the tests');
  const image = await buildImage(t, 'deploy/Dockerfile');
  const start = image.config.Cmd;

  await t.test('is not much larger than what it loads', async t => {
    const [base, ...own] = image.layers;
    for (const { step, bytes } of image.layers)
      t.comment(`${(bytes / 1e6).toFixed(1).padStart(6)} MB  ${step}`);
    const modules = own.filter(({ step }) => step.includes('node_modules'));
    t.equal(modules.length, 1);
    t.ok((modules[0]?.bytes ?? 0) < mostModules);
    const compiled = own.filter(({ step }) => step.includes('setpriv'));
    t.equal(compiled.length, 1);
    t.ok((compiled[0]?.bytes ?? 0) < mostCompiled);
    const others = own.filter(layer => !modules.includes(layer) && !compiled.includes(layer));
    t.ok(others.reduce((sum, { bytes }) => sum + bytes, 0) < mostSource);
    t.ok((base?.bytes ?? 0) > 100e6);
  });

  await t.test('has the locked versions, the patch, and no development dependency', t =>
    checkModules(t, image),
  );

  await t.test('can load every dependency of package.json', async t => {
    const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
    // GraphiQL is served as files, and patch-package is only needed by the build.
    const names = Object.keys(dependencies).filter(name => !['graphiql', 'patch-package'].includes(name));
    const script = 'for (const name of process.argv.slice(1)) await import(name)';
    t.match(await image.run(['node', '--input-type=module', '-e', script, ...names]), {
      code: 0,
      output: '',
    });
  });

  await t.test('can write to /data and not to its code', async t => {
    t.match(await image.run(['id', '-un']), { code: 0, output: 'node\n' });
    const script = (path: string) => ['node', '-e', `fs.writeFileSync('${path}', '')`];
    t.match(await image.run(script('/app/src/new.ts')), { code: 1, output: /EACCES/ });
    t.match(await image.run(script('/data/new')), { code: 0, output: '' });
    t.same(await image.run(['find', '/app', '/usr', '/etc', '-not', '-type', 'l', '-writable']), {
      code: 0,
      output: '',
    });
  });

  await t.test('migrates, serves and works on PostgreSQL, and ends on SIGTERM with 0', async t => {
    const env = { AUTH_MODE: 'open', DATABASE_URL: await createPostgres(t, { empty: true }) };
    const before = Date.now();
    const { server, worker, migrate } = readCommands();
    t.equal(server, undefined, 'a server has the command of the image');
    t.match(await image.run(migrate, env), { code: 0, output: /The database is up to date/ });
    const create = ['node', 'scripts/keys.ts', 'create', '--name', 'me', '--scopes', 'admin'];
    t.match(await image.run(create, env), { code: 0 });
    const port = await freePort();
    const served = await image.start(
      start,
      { ...env, PORT: String(port) },
      new RegExp(`${serviceTitle} serves`),
    );
    const started = await image.start(worker, env, /The worker waits for webhook events/);
    for (const { pid } of [served, started]) {
      t.match(readFileSync(`/proc/${pid}/status`, 'utf8'), /^Uid:\t1000\t1000\t1000\t1000$/m);
      // SIGTERM must reach the service itself, and nothing between it and the container, such as npm.
      t.match(readFileSync(`/proc/${pid}/cmdline`, 'utf8'), /^node\0/);
    }
    await checkAnswers(t, port);
    const check = image.config.Healthcheck.Test.slice(1);
    t.match(await image.run(check, { PORT: String(port) }), { code: 0 });
    t.match(await image.run(check, { PORT: String(await freePort()) }), { code: 1 });
    for (const { pid, ended } of [served, started]) {
      process.kill(pid, 'SIGTERM');
      t.equal(await ended, 0);
    }
    t.equal(await writtenSince(image, before), '');
  });

  await t.test('without settings asks for AUTH_MODE, and with it runs on the database in /data', async t => {
    t.match(await image.run(start), { code: 1, output: /AUTH_MODE/ });
    const port = await freePort();
    const env = { AUTH_MODE: 'open', PORT: String(port) };
    const before = Date.now();
    const { pid, ended } = await image.start(start, env, /embedded, in \/data/);
    await checkAnswers(t, port);
    process.kill(pid, 'SIGTERM');
    t.equal(await ended, 0);
    t.equal(await writtenSince(image, before), '');
    t.same(Object.keys(image.config.Volumes), ['/data']);
  });
});

/** Compares what is installed in the image with the lock file. */
async function checkModules(t: Test, { run }: Image) {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const script = `const files = fs.globSync('node_modules/**/package.json');
    console.log(JSON.stringify(files.map(file => [path.dirname(file), JSON.parse(fs.readFileSync(file)).version])))`;
  const { output } = await run(['node', '-e', script]);
  const installed: [string, string][] = JSON.parse(output);
  const found = installed.filter(([path]) => path in packages);
  t.ok(found.length > 100);
  for (const [path, version] of found) {
    t.equal(version, packages[path].version, path);
    t.notOk(packages[path].dev, `${path} is no development dependency`);
  }
  t.match(
    await run(['cat', 'node_modules/postgres/src/index.js']),
    { output: /triport-/ },
    'the patch is applied',
  );
}

/** Returns the files outside /data that the service has written since; a read-only file system would refuse them. */
async function writtenSince({ run }: Image, milliseconds: number): Promise<string> {
  const seconds = `@${milliseconds / 1000}`;
  // /output gets what commands print, and the test reads it there.
  const find = `find / -xdev '(' -path /data -o -path /output ')' -prune -o -user node -newermt ${seconds} -print 2>/dev/null`;
  return (await run(['sh', '-c', find])).output;
}

/** Asks for what a browser and a client ask for first, including GraphiQL and Swagger UI with their files. */
async function checkAnswers(t: Test, port: number) {
  const url = `http://127.0.0.1:${port}`;
  await until('it is ready', () => answers(`${url}/health/ready`));
  for (const path of ['/', '/docs', '/docs/json', '/api/users', '/metrics'])
    t.ok(await answers(url + path), path);
  for (const path of ['/docs', '/api/graphql']) {
    const page = await (await fetch(url + path, { headers: { accept: 'text/html' } })).text();
    const files = [...page.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, file = '']) => file);
    t.ok(files.length > 3, `${path} has files`);
    for (const file of files) t.ok(await answers(url + file), file);
  }
}

/** Returns the commands of the containers, and checks that Compose and Kubernetes give the same ones. */
function readCommands() {
  const { services } = parse(readFileSync('deploy/compose.yaml', 'utf8'), { merge: true });
  const commandOf = (file: string) =>
    parseAllDocuments(readFileSync(`deploy/kubernetes/${file}.yaml`, 'utf8'))[0]?.toJS().spec.template.spec
      .containers[0].command;
  t.same(commandOf('worker'), services.worker.command);
  t.same(commandOf('migrate'), services.migrate.command);
  return {
    server: services.server1.command,
    worker: services.worker.command,
    migrate: services.migrate.command,
  };
}
