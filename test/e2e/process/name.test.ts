import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { serviceName, serviceTitle } from '#schemas/name.ts';
import { copyProject } from '#test/docs/handbook.ts';
import { bearer } from '#test/helper/access.ts';
import { createPostgres } from '#test/helper/database.ts';
import { serve } from '#test/helper/servers/serve.ts';
import { queryPostgres } from '#test/rig/cluster/postgres.ts';
import { runCommand, startService, until } from '#test/rig/process.ts';
import { hasRedis, startRedis } from '#test/rig/servers/redis.ts';

/** Copies the project with another name in `schemas/name.ts`: a word of SQL, and a title with markup. */
function renamed(): string {
  const folder = copyProject();
  const file = join(folder, 'schemas/name.ts');
  const text = readFileSync(file, 'utf8');
  writeFileSync(
    file,
    text.replace(`'${serviceName}'`, `'order'`).replace(`'${serviceTitle}'`, `'Orders & <Co>'`),
  );
  return folder;
}

t.test('under another name, the service says the old one nowhere', async t => {
  const folder = renamed();
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  let traces = '';
  const collector = await serve(t, async (request, response) => {
    for await (const chunk of request) traces += chunk;
    response.setHeader('content-type', 'application/json').end('{}');
  });
  const redis = hasRedis ? await startRedis(t) : undefined;
  const DATABASE_URL = await createPostgres(t);
  const env = {
    DATABASE_URL,
    AUTH_MODE: 'required',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    ...(redis && { REDIS_URL: redis.url }),
  };
  const said: Record<string, string> = {};
  const command = async (script: string, ...args: string[]) => {
    const { code, out, err } = await runCommand(join(folder, 'scripts', script), args, env);
    t.equal(code, 0, `${script} ${args}: ${err}`);
    said[`${script} ${args}`] = out + err;
    return out;
  };
  for (const script of ['backup.ts', 'migrate.ts', 'repair.ts', 'new.ts']) await command(script, '--help');
  const key = (await command('keys.ts', 'create', '--name', 'first', '--scopes', 'admin')).trim();
  t.match(key, /^order_[0-9a-f]{32}_/);
  await command('doctor.ts');

  const service = await startService(t, env, { script: join(folder, 'src/main.ts') });
  const ask = async (path: string, headers: Record<string, string> = {}, status = 200) => {
    const reply = await fetch(`${service.url}${path}`, { headers });
    t.equal(reply.status, status, path);
    const text = await reply.text();
    said[path] = JSON.stringify([...reply.headers]) + text;
    return text;
  };
  const html = { accept: 'text/html' };
  const pages = ['/', '/docs/', '/console', '/api/graphql'];
  for (const path of pages) {
    const page = await ask(path, html);
    t.match(page, '<title>Orders &#38; &#60;Co&#62;', path);
    t.notMatch(page, '<Co>', path);
    for (const [, file = ''] of page.matchAll(/(?:href|src)="(\/[^"]+\.(?:js|css))"/g)) await ask(file);
  }
  for (const path of ['/docs/json', '/docs/yaml', '/health/ready']) await ask(path);
  await ask('/api/users', {}, 401);
  t.match(said['/api/users'], /Bearer realm=\\"order\\"/);
  await ask('/api/users', bearer(key));
  await ask('/metrics', bearer(key));
  t.match(JSON.parse(await ask('/', bearer(key))), { name: 'order' });
  t.match(JSON.parse(said['/docs/json']?.replace(/^.*?\]\]/, '') ?? ''), {
    info: { title: 'Orders & <Co>' },
  });

  const sessions = await queryPostgres(
    DATABASE_URL,
    'select application_name, query from pg_stat_activity where datname = current_database()',
  );
  said.sessions = JSON.stringify(sessions);
  t.match(said.sessions, /"order"/);
  if (redis) {
    const known = await Promise.all(['keys *', 'pubsub channels'].map(line => redis.command(line)));
    said.redis = JSON.stringify(known);
    for (const name of ['limit', 'messages']) t.match(said.redis, `order:${name}`);
  }
  await until('traces arrive', () => traces.includes('"order"'));
  await service.kill('SIGTERM');
  said.traces = traces;
  said.log = JSON.stringify(service.lines) + service.errors();
  t.match(said.log, /Orders & <Co> serves/);
  for (const [what, text] of Object.entries(said)) t.notMatch(text.replaceAll(folder, ''), /triport/i, what);
});
