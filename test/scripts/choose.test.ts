import t from 'tap';
import { OperatorError } from '#src/core/errors.ts';
import { chooseTests } from '#test/rig/runner/files.ts';

const chosen = (...given: Parameters<typeof chooseTests>) =>
  Object.fromEntries(
    chooseTests(...given).map(({ suite, tests }) => [suite, tests.map(({ path }) => path).sort()]),
  );

t.test('npm test takes a folder, a file, or a part of its name, and runs them where they belong', async t => {
  const folder = chosen([], ['test/changes/']);
  const [server, embedded] = [folder.postgres, folder.embedded];
  t.ok(server?.includes('test/changes/order.test.ts') && !embedded?.includes('test/changes/order.test.ts'));
  for (const each of [server, embedded]) t.ok(each?.includes('test/changes/numbers.test.ts'));
  t.notOk('e2e' in folder);
  const file = 'test/e2e/process/dev.test.ts';
  t.same(chosen([], [file]), { e2e: [file] });
  t.same(chosen([], ['process/dev']), { e2e: [file] });
});

t.test('a suite that is named runs what belongs to it, and any file that is named whole', async t => {
  t.throws(() => chosen(['postgres'], ['layers']), { message: /npm test -- embedded layers/ });
  const file = 'test/core/layers.test.ts';
  t.same(chosen(['postgres'], [file]), { postgres: [file] });
  const { nightly = [] } = chosen(['nightly'], []);
  t.ok(nightly.length > 0 && nightly.every(path => path.startsWith('test/nightly/')));
});

t.test('a name of no test stops the run', async t => {
  for (const name of ['postgress', 'test/none/'])
    t.throws(
      () => chooseTests([], [name]),
      new OperatorError(`No test has '${name}' in its path, and no suite is named so. See --help.`),
    );
});
