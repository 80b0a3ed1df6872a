// runs: long, patient
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import {
  blocksOf,
  copyProject,
  missing,
  runBlocks,
  succeeds,
  testsOfNewResources,
  walk,
} from '#test/docs/handbook.ts';
import { startService } from '#test/rig/process.ts';

/** One copy for all guides and kinds, so that its tests, the slowest step, run once. */
const folder = copyProject();
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
/** The tests that run at the end: these, and those that the pages tell the reader to run. */
const tests = { embedded: new Set<string>(), postgres: new Set(testsOfNewResources) };

/** Follows a page, starts the service, and tries what the page says. */
async function walkAndTry(t: Test, page: string, heading: string): Promise<void> {
  const tried = blocksOf(page, heading).map(({ text }) => text);
  const steps = blocksOf(page).filter(({ text }) => !tried.includes(text));
  t.ok(steps.length > 3 && tried.length > 3, 'there are steps');
  await walk(t, steps, folder, tests);
  if (missing.length > 0) return t.comment(`not installed: ${missing}`);
  const script = join(folder, 'src/main.ts');
  // The page before may have left records.
  rmSync(join(folder, 'data'), { recursive: true, force: true });
  const { url } = await startService(t, { DATA_DIR: join(folder, 'data') }, { script });
  await runBlocks(t, page, url, { heading, folder });
}

t.test('the steps of docs/add-a-handler.md add a handler, and an event has its effect', t =>
  walkAndTry(t, 'docs/add-a-handler.md', '5. Try it'),
);

t.test('the steps of docs/add-a-provider.md add a provider', async t => {
  const steps = blocksOf('docs/add-a-provider.md').filter(({ kind, file }) => kind === 'sh' || file);
  t.ok(steps.length > 4, 'there are steps');
  await walk(t, steps, folder, tests);
});

t.test('the steps of docs/add-a-resource.md add notes with a rule, change them, and let clients ask', t =>
  walkAndTry(t, 'docs/add-a-resource.md', '6. Try it'),
);

t.test('the steps of docs/your-own.md add a route, a field, a setting, a job and a page', t =>
  walkAndTry(t, 'docs/your-own.md', 'Try it'),
);

t.test('a new resource can be any kind: a tree, a join, of any field, of an owner alone', async t => {
  for (const [plural, given] of Object.entries({
    lineItems:
      "lineItem --belongs-to 'author=user,editor=user?,parent=lineItem?' --fields 'title:string:unique,open:boolean,since:date?,budget:number,extra:json?,about:text?,amount:integer,mail:email:unique,copy:email?,price:cents,dueAt:time,status:draft|sent|paid'",
    memberships: 'membership --belongs-to user,lineItem --owner user --private',
    remarks: 'remark --belongs-to membership,author=user --fields text:string --owner author',
  })) {
    await succeeds(t, `npm run new -- ${given}`, folder);
    tests.postgres.add(`test/domain/${plural}.test.ts`);
  }
});

t.test('all that the pages and these commands add passes its tests and the checks', async t => {
  for (const line of ['npm run format', 'npm run generate']) await succeeds(t, line, folder);
  const lines = Object.entries(tests).map(([suite, files]) => `npm test -- ${suite} ${[...files].join(' ')}`);
  await Promise.all(['npm run check', ...lines].map(line => succeeds(t, line, folder)));
});
