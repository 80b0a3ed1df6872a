import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import t from 'tap';

/** The floors of ARCHITECTURE.md, from the ground up; imports go down, never up. */
const floors = [
  { floor: 1, files: /^schemas\// },
  { floor: 2, files: /^drizzle\// },
  { floor: 3, files: /^src\/core\// },
  { floor: 4, files: /^src\/services\// },
  { floor: 5, files: /^(plugins\/|src\/jobs\.ts$)/ },
  { floor: 6, files: /^src\/app\.ts$/ },
  { floor: 7, files: /^(src\/(main|worker|command)\.ts$|scripts\/)/ },
];
const floorOf = (file: string) => floors.find(({ files }) => files.test(file))?.floor ?? 0;
const forbidden: Record<number, RegExp> = {
  1: /^(?!@sinclair\/typebox$)/,
  4: /^(@?fastify|mercurius|graphql|node:http)/,
};
/** The doors: a door never imports another one. */
const doorOf = (file: string) => /^plugins\/(rest|graphql|webhooks)\b/.exec(file)?.[1];

const sources = globSync('{schemas,drizzle,src,plugins,scripts}/**/*.ts');

t.test('imports go down, never up, and every file has a floor', async t => {
  for (const file of sources) {
    const floor = floorOf(file);
    t.ok(floor, `${file} stands on a floor`);
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(
      /^(?:import|export)[^'";]*?from '([^']+)'/gm,
    )) {
      if (!name.startsWith('.')) {
        t.notOk(forbidden[floor]?.test(name), `${file} on floor ${floor} must not import ${name}`);
        continue;
      }
      const target = normalize(join(dirname(file), name));
      t.ok(
        floorOf(target) <= floor,
        `${file} (floor ${floor}) imports ${target}: move it to floor ${floorOf(target)}`,
      );
      const [door, other] = [doorOf(file), doorOf(target)];
      t.notOk(door && other && door !== other, `${file} reaches through another door: ${target}`);
    }
  }
});

t.test('the environment is read by the process alone', async t => {
  for (const file of sources.filter(file => floorOf(file) < 7 && file !== 'src/core/config.ts'))
    t.notMatch(readFileSync(file, 'utf8'), /process\.env/, file);
});
