// runs: long, in its own process
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import t from 'tap';
import { takePictures } from '#test/rig/pages/pictures.ts';
import { makeFolder } from '#test/rig/process.ts';

/** Of Grafana and Jaeger, taken by hand. */
const ofOthers = ['dashboard.png', 'traces.png'];
const shown = globSync(['README.md', 'docs/**/*.md']).flatMap(page =>
  [...readFileSync(page, 'utf8').matchAll(/images\/([\w-]+\.png)/g)].map(([, name = '']) => name),
);
const sizeOf = (png: Buffer) => [png.readUInt32BE(16), png.readUInt32BE(20)];

t.test('each picture that a page shows is made by the script, as large as it is, and is small', async t => {
  const folder = makeFolder(t);
  const taken = await takePictures(t, folder);
  const committed = globSync('docs/images/*.png').map(path => basename(path));
  t.same(taken.toSorted(), [...new Set(shown)].filter(name => !ofOthers.includes(name)).toSorted());
  t.same(committed.toSorted(), [...taken, ...ofOthers].toSorted(), 'none is left over');
  for (const name of taken) {
    const kept = readFileSync(`docs/images/${name}`);
    t.same(sizeOf(readFileSync(join(folder, name))), sizeOf(kept), name);
    t.ok(kept.length <= 100_000, `${name} has ${kept.length} bytes`);
  }
});
