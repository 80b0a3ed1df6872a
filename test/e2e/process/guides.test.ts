// runs: long
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { blocksOf, copyProject, missing, runBlocks, succeeds, walk } from '../../docs/handbook.ts';
import { startService } from '../../rig/process.ts';

/** One copy for all guides, so that its tests, the slowest step, run once. */
const folder = copyProject();
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
/** These read what there is from lists or from the document. */
const knowWhatIsAdded = ['access/own', 'access/ownGraphql', 'docs/openapi', 'rest/walks'];
const nameOf = (test: string) => `test/${test}.test.ts`;
/** What is tested at the end: these, and what the pages tell the reader to test. */
const tests = { embedded: new Set<string>(), postgres: new Set(knowWhatIsAdded.map(nameOf)) };

t.test('the steps of docs/add-a-handler.md add a handler, and an event has its effect', async t => {
  const page = 'docs/add-a-handler.md';
  const heading = '5. Try it';
  const tried = blocksOf(page, heading).map(({ text }) => text);
  const steps = blocksOf(page).filter(({ text }) => !tried.includes(text));
  t.ok(steps.length > 3 && tried.length > 3, 'there are steps');
  await walk(t, steps, folder, tests);
  if (missing.length > 0) return t.comment(`not installed: ${missing}`);
  const script = join(folder, 'src/main.ts');
  const { url } = await startService(t, { DATA_DIR: join(folder, 'data') }, { script });
  await runBlocks(t, page, url, { heading, folder });
});

for (const [page, least, what] of [
  ['docs/add-a-provider.md', 4, 'a provider'],
  ['docs/add-a-resource.md', 12, 'comments with a rule, and change resources later'],
] as const)
  t.test(`the steps of ${page} add ${what}`, async t => {
    const steps = blocksOf(page).filter(({ kind, file }) => kind === 'sh' || file);
    t.ok(steps.length > least, 'there are steps');
    await walk(t, steps, folder, tests);
  });

t.test('a new resource can be any kind: a join, a tree, of any field, of an owner alone', async t => {
  for (const [plural, given] of Object.entries({
    teams: 'team --fields title:string:unique,open:boolean,since:date?,budget:number,extra:json?,about:text?',
    memberships: 'membership --belongs-to user,team',
    lineItems:
      "lineItem --belongs-to 'author=user,editor=user?,parent=lineItem?' --fields 'amount:integer,dueAt:time,status:draft|sent|paid'",
    notes: 'note --belongs-to user --fields text:string --owner user --private',
    remarks: 'remark --belongs-to note,author=user --fields text:string --owner author',
  })) {
    await succeeds(t, `npm run new -- ${given}`, folder);
    tests.postgres.add(nameOf(`resources/${plural}`));
  }
});

t.test('all that the pages and the command add passes its tests and the checks', async t => {
  for (const line of ['npm run format', 'npm run generate']) await succeeds(t, line, folder);
  const lines = Object.entries(tests).map(([suite, files]) => `npm test -- ${suite} ${[...files].join(' ')}`);
  await Promise.all(['npm run check', ...lines].map(line => succeeds(t, line, folder)));
});
