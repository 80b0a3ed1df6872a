import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { blocksOf, copyProject, missingPrograms, runBlocks, succeeds, walk, write } from './handbook.ts';

// The type check, the migration and the tests of what a guide adds take a while on a busy machine.
t.setTimeout(880_000);

const missing = await missingPrograms();
/** One copy for all guides, so that the slowest step, the type check, is done once. */
const folder = copyProject();
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
const check = 'npm run check';
/** These read what there is from lists, from the document, or from recorded events. */
const ofWhatIsAdded = [
  ...[
    'access/graphql',
    'access/table',
    'docs/openapi',
    'docs/conflicts',
    'docs/operations',
    'docs/components',
    'docs/home',
  ],
  ...[
    'http/conditions',
    'http/preferences',
    'http/idempotentRoutes',
    'rest/fuzz',
    'rest/lists',
    'rest/walks',
  ],
  ...['resources/*', 'webhooks/*'],
].map(name => `test/${name}.test.ts`);

t.test('the steps of docs/add-a-handler.md add a handler, and an event has its effect', async t => {
  const page = 'docs/add-a-handler.md';
  const heading = '5. Try it';
  const tried = blocksOf(page, heading).map(({ text }) => text);
  const steps = blocksOf(page).filter(({ text }) => !tried.includes(text));
  t.ok(steps.length > 3 && tried.length > 3, 'there are steps');
  await walk(t, steps, folder, check);
  if (missing.length > 0) return t.comment(`not installed: ${missing}`);
  await runBlocks(t, page, await startService(t), { heading, folder });
});

t.test('the steps of docs/add-a-provider.md add a provider, whose test passes', async t => {
  const steps = blocksOf('docs/add-a-provider.md').filter(({ kind, file }) => kind === 'sh' || file);
  t.ok(steps.length > 5, 'there are steps');
  await walk(t, steps, folder, check);
});

t.test('docs/add-a-resource.md adds comments with a rule, and changes resources later', async t => {
  const steps = blocksOf('docs/add-a-resource.md').filter(({ kind, file }) => kind === 'sh' || file);
  t.ok(steps.length > 12, 'there are steps');
  await walk(t, steps, folder, check);
});

t.test('the client of a service with a new resource has its operations and its conflicts', async t => {
  const out = t.testdir();
  await succeeds(t, `npm run -s client -- '${out}'`, folder);
  const types = readFileSync(join(out, 'api.ts'), 'utf8');
  for (const name of ['"/api/comments/{comment_id}": {', 'CommentCreate: {', 'UserHasCommentsError: {'])
    t.ok(types.includes(name), name);
  t.match(readFileSync(join(out, 'graphql-env.d.ts'), 'utf8'), "'CommentCreateInput': {");
});

t.test('what the guides add leaves the tests green that know handlers, providers and resources', t =>
  succeeds(t, `npm test -- embedded ${ofWhatIsAdded.join(' ')}`, folder),
);

t.test('a new resource can join two others, be a tree, have two words, and every type of field', async t => {
  for (const given of [
    'team --fields title:string:unique,open:boolean,since:date?,budget:number,extra:json?,about:text?',
    'membership --belongs-to user,team',
    "lineItem --belongs-to 'author=user,editor=user?,parent=lineItem?' --fields 'amount:integer,dueAt:time,status:draft|sent|paid'",
  ])
    await succeeds(t, `npm run new -- ${given}`, folder);
  const files = ['teams', 'memberships', 'lineItems'].map(name => `test/resources/${name}.test.ts`);
  await succeeds(t, `npm test -- embedded ${files.join(' ')}`, folder);
});

t.test('all that they add passes the checks', t => succeeds(t, check, folder));

/** Starts the service of the copy as `npm start` does; returns its origin. */
async function startService(t: Test): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, PORT: '0' };
  const service = spawn(process.execPath, ['src/main.ts'], { cwd: folder, env });
  const ended = once(service, 'close');
  t.teardown(() => {
    service.kill();
    return ended;
  });
  return new Promise((resolve, reject) => {
    let output = '';
    service.stdout.on('data', data => {
      output += data;
      const [origin] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? [];
      if (origin) resolve(origin);
    });
    ended.then(() => reject(new Error(`The service ended: ${output}`)));
  });
}

t.test('a step that does not fit the code is an error', async t => {
  const folder = t.testdir({ 'a.ts': 'one();\ntwo();\n' });
  const step = (text: string, kind = 'diff') => ({ kind, file: 'a.ts', text });
  t.throws(() => write(folder, step(' three();\n+four();\n')), /a\.ts must have this once, not 0 times/);
  t.throws(() => write(folder, step('one();\n', 'ts')), /a\.ts is not as the page shows it/);
  t.doesNotThrow(() => write(folder, step('one();\ntwo();\n', 'ts')));
});
