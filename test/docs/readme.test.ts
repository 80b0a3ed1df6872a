import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { Settings } from '#schemas/settings.ts';
import { makeKey, openIssuer } from '#test/helper/access.ts';
import { backend } from '#test/helper/database.ts';
import { buildReceiver, secret } from '#test/helper/events/webhooks.ts';
import { missing, runBlocks } from './handbook.ts';

/** The pages whose commands are run, and the settings of the service that they are run against. */
const executed: Record<string, Partial<Settings>> = {
  'docs/api.md': {},
  'docs/errors.md': {},
  'docs/safe-writes.md': {},
  'docs/webhooks.md': {},
  'docs/access.md': { AUTH_MODE: 'required' },
  'docs/sign-in.md': { AUTH_MODE: 'required' },
};
const pages = [...globSync('*.md'), ...globSync('docs/**/*.md'), 'bench/README.md'];
const skip =
  (backend === 'postgres' && 'the pages show the embedded database') ||
  (missing.length > 0 && `not installed: ${missing}`);

/** Starts a service with a worker, and returns the variables that the shell of a page has. */
async function serve(t: Test, settings: Partial<Settings>) {
  const issuer = await openIssuer(t);
  const access = settings.AUTH_MODE === 'required' ? issuer.settings : {};
  const { app, database } = await buildReceiver(t, { settings: { ...settings, ...access } });
  const origin = await app.listen({ port: 0, host: '127.0.0.1' });
  const { key } = await makeKey(database, ['admin']);
  const WEBHOOK_SECRETS = JSON.stringify({ stripe: [secret] });
  const TOKEN = await issuer.sign({ scope: 'own' });
  return { origin, variables: { WEBHOOK_SECRETS, SECRET: secret, ADMIN_KEY: key, TOKEN } };
}

for (const [page, settings] of Object.entries(executed))
  t.test(`the commands of ${page} print what the page shows`, { skip }, async t => {
    const { origin, variables } = await serve(t, settings);
    await runBlocks(t, page, origin, { variables });
  });

t.test('every file that a page links to exists', async t => {
  for (const page of pages)
    for (const [, path = ''] of readFileSync(page, 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g))
      t.ok(existsSync(join(dirname(page), path)), `${page} links to ${path}`);
});

t.test('every file of the project that a page names exists', async t => {
  const named = /`((?:src|plugins|schemas|drizzle|scripts|test|bench|deploy|docs|patches)\/[\w./+-]+)`/g;
  // The changelog also names files that are gone.
  for (const page of pages.filter(page => page !== 'CHANGELOG.md'))
    for (const [, path = ''] of readFileSync(page, 'utf8').matchAll(named))
      t.ok(existsSync(path), `${page} names ${path}`);
});

t.test('every setting that a page names exists', async t => {
  const settings =
    /\b(?:DATABASE|QUEUE|AUTH|AUDIT|RATE_LIMIT|WEBHOOK|GRAPHQL_MAX|REQUEST|HANDLER|STATEMENT|MAX|DRAIN|SHUTDOWN|METRICS|LOG)_[A-Z_]+\b/g;
  for (const page of pages.filter(page => page !== 'CHANGELOG.md'))
    for (const [name] of readFileSync(page, 'utf8').matchAll(settings))
      t.ok(name.replace(/_FILE$/, '') in Settings.properties, `${page} names ${name}`);
});

t.test('every heading that a page links to exists', async t => {
  const anchorOf = (heading: string) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(/\s/g, '-');
  for (const page of pages)
    for (const [, path, anchor = ''] of readFileSync(page, 'utf8').matchAll(
      /\]\((?!https?:)([^)#]*)#([^)]+)\)/g,
    )) {
      const target = path ? join(dirname(page), path) : page;
      const headings = [...readFileSync(target, 'utf8').matchAll(/^#+ (.*)$/gm)];
      const anchors = headings.map(([, heading = '']) => anchorOf(heading));
      t.ok(anchors.includes(anchor), `${page} links to ${target}#${anchor}`);
    }
});

t.test('every dependency has its reason in ARCHITECTURE.md', async t => {
  const text = readFileSync('ARCHITECTURE.md', 'utf8');
  const entries = text.split('## Dependencies')[1]?.split(/^- /m) ?? [];
  const named = entries.flatMap(entry => entry.split(':')[0]?.match(/(?<=`)[^`\s,]+(?=`)/g) ?? []);
  const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  t.same(named.sort(), Object.keys({ ...dependencies, ...devDependencies }).sort());
});
