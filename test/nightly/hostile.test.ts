// runs: late
import t from 'tap';
import { projectFolder } from '#test/rig/cluster/cluster.ts';
import { attack } from '#test/rig/load/attack.ts';
import { kinds } from '#test/rig/load/kinds/all.ts';
import { failuresOf, lineOf } from '#test/rig/load/report.ts';
import { openScene } from '#test/rig/load/scene.ts';

t.test('beside hostile clients, honest ones get all of their answers', async t => {
  const scene = await openScene(projectFolder);
  t.teardown(() => scene.close());
  const names = kinds.map(({ name }) => name);
  const turns = [
    // Late answers without an attack show that the machine is too busy to tell what attacks do.
    { title: 'nobody', hostile: [], seconds: 6 },
    ...names.map(name => ({ title: name, hostile: [name], seconds: 6 })),
    { title: 'all together', hostile: names, seconds: 15 },
  ];
  for (const { title, ...turn } of turns)
    await t.test(title, async t => {
      const result = await attack(scene, turn);
      const failures = failuresOf(result);
      t.comment(lineOf(title, result, failures));
      t.same(failures, []);
    });
});
