import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import t from 'tap';

/** The layers of ARCHITECTURE.md from the bottom up. */
const layers = [
  { layer: 1, files: /^schemas\// },
  { layer: 2, files: /^drizzle\// },
  { layer: 3, files: /^src\/(core|config|database|telemetry)\// },
  { layer: 4, files: /^src\/(access|services|webhooks)\// },
  { layer: 5, files: /^(plugins\/|src\/jobs\.ts$)/ },
  { layer: 6, files: /^src\/(app|resources)\.ts$/ },
  { layer: 7, files: /^(src\/(main|worker|command)\.ts$|src\/process\/|scripts\/)/ },
  // No command of the service needs a test.
  { layer: 8, files: /^test\/rig\// },
];
const layerOf = (file: string) => layers.find(({ files }) => files.test(file))?.layer ?? 0;
const forbidden: Record<number, RegExp> = {
  1: /^(?!@sinclair\/typebox$)/,
  4: /^(@?fastify|mercurius|graphql|node:http)/,
};
/** What knows no database and no framework. */
const isCore = (file: string) => /^(schemas|src\/core)\//.test(file);
/** A transport never imports another one. */
const transportOf = (file: string) => /^plugins\/(rest|graphql|webhooks)\b/.exec(file)?.[1];

const sources = globSync('{schemas,drizzle,src,plugins,scripts,test/rig}/**/*.ts');

/** The modules that a file imports, types included. */
const importsOf = (file: string) =>
  [...readFileSync(file, 'utf8').matchAll(/^(?:import|export)[^'";]*?from '([^']+)'/gm)].map(
    ([, name = '']) => name,
  );

t.test('imports go down, never up, and every file has a layer', async t => {
  for (const file of sources) {
    const layer = layerOf(file);
    t.ok(layer, `${file} belongs to a layer`);
    for (const name of importsOf(file)) {
      if (!name.startsWith('.')) {
        t.notOk(forbidden[layer]?.test(name), `${file} in layer ${layer} must not import ${name}`);
        continue;
      }
      const target = normalize(join(dirname(file), name));
      t.ok(
        layerOf(target) <= layer,
        `${file} (layer ${layer}) imports ${target}: move it to layer ${layerOf(target)}`,
      );
      t.notOk(isCore(file) && !isCore(target), `${file} knows nothing but the core: not ${target}`);
      const [transport, other] = [transportOf(file), transportOf(target)];
      t.notOk(transport && other && transport !== other, `${file} imports from another transport: ${target}`);
    }
  }
});

t.test('no imports go in a circle', async t => {
  const known = new Set<string>();
  function visit(file: string, path: string[]): void {
    t.notOk(path.includes(file), [...path, file].join(' imports '));
    if (known.has(file)) return;
    known.add(file);
    const targets = importsOf(file).map(name => normalize(join(dirname(file), name)));
    // The templates of scripts/lib/resource import what is not there.
    for (const target of targets.filter(target => sources.includes(target))) visit(target, [...path, file]);
  }
  for (const file of sources) visit(file, []);
});

t.test('only the process layer reads the environment', async t => {
  for (const file of sources.filter(file => layerOf(file) < 7 && file !== 'src/config/settings.ts'))
    t.notMatch(readFileSync(file, 'utf8'), /process\.env/, file);
});
