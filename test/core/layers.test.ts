import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { domain } from '#src/domain/index.ts';
import { isYours, migrations } from '#test/helper/yours.ts';

/** The layers of ARCHITECTURE.md from the bottom up. */
const layers = [
  /^schemas\//,
  /^drizzle\//,
  /^src\/core\//,
  /^src\/(config|telemetry)\//,
  /^src\/database\//,
  /^src\/access\//,
  /^src\/records\//,
  /^src\/changes\//,
  /^src\/people\//,
  /^src\/subscriptions\//,
  /^src\/webhooks\//,
  /^src\/effects\//,
  /^(plugins\/|src\/jobs\.ts$)/,
  /^src\/compose\.ts$/,
  /^src\/domain\//,
  /^src\/app\.ts$/,
  /^(src\/(main|worker|command)\.ts$|src\/process\/|scripts\/|drizzle\.config\.ts$)/,
  // The rig of the tests is on top: no command of the service may import it.
  /^test\//,
];
const top = layers.length - 2;
const layerOf = (file: string) => layers.findIndex(layer => layer.test(file));
/** Files that know no framework. */
const isRule = (file: string) =>
  /^src\/(access|records|changes|people|subscriptions|webhooks|effects)\//.test(file);
const framework = /^(@?fastify|mercurius|graphql|node:http)/;
/** Files that know no database and no framework. */
const isCore = (file: string) => /^(schemas|src\/core)\//.test(file);
/** A transport never imports another one. */
const transportOf = (file: string) => /^plugins\/(rest|graphql|webhooks)\b/.exec(file)?.[1];

const sources = globSync('{drizzle.config.ts,{schemas,drizzle,src,plugins,scripts,test/rig}/**/*.ts}');

/** The names that a file imports, types included. What a template writes is no import of its file. */
const namesIn = (file: string) =>
  [
    ...readFileSync(file, 'utf8')
      .replaceAll(/`[^`]*`/g, '')
      .matchAll(/^(?:import|export)[^'";]*?from '([^']+)'/gm),
  ].map(([, name = '']) => name);

/** The files that a file imports. */
const importsOf = (file: string) =>
  namesIn(file).flatMap(name => {
    if (name.startsWith('#')) return name.slice(1);
    return name.startsWith('./') ? join(dirname(file), name) : [];
  });

t.test('imports go down, never up, and every file has a layer', async t => {
  for (const file of sources) {
    const layer = layerOf(file);
    t.ok(layer >= 0, `${file} belongs to a layer`);
    for (const name of namesIn(file).filter(name => !/^(#|\.\/)/.test(name))) {
      const isForbidden = layer === 0 ? name !== '@sinclair/typebox' : isRule(file) && framework.test(name);
      t.notOk(isForbidden, `${file} must not import ${name}`);
    }
    for (const target of importsOf(file).filter(target => target !== 'package.json')) {
      const below = layerOf(target);
      t.ok(below >= 0 && below <= layer, `${file} imports ${target}, which is above it`);
      t.notOk(isCore(file) && !isCore(target), `${file} knows nothing but the core: not ${target}`);
      const [transport, other] = [transportOf(file), transportOf(target)];
      t.notOk(transport && other && transport !== other, `${file} imports from another transport: ${target}`);
    }
  }
});

const composing = ['src/app.ts', 'src/main.ts', 'src/worker.ts'];

t.test('the service names no resource of the application', async t => {
  // `users` are people, whom the service knows.
  const paths = domain.resources.map(({ resource }) => resource.path).filter(path => path !== 'users');
  const words = new RegExp(`/api/(${paths.join('|') || '-'})\\b`);
  const own = globSync('{schemas,drizzle,src,plugins}/**/*.{ts,js,css}').filter(file => !isYours(file));
  for (const file of [...own, ...migrations, 'drizzle/spread.sql']) {
    t.notMatch(readFileSync(file, 'utf8'), words, file);
    const found = importsOf(file).find(isYours);
    t.notOk(!composing.includes(file) && found, `${file} is given what is in ${found}`);
  }
});

t.test('no imports go in a circle', async t => {
  const known = new Set<string>();
  function visit(file: string, path: string[]): void {
    t.notOk(path.includes(file), [...path, file].join(' imports '));
    if (known.has(file)) return;
    known.add(file);
    // What is outside these folders imports nothing of them.
    for (const target of importsOf(file).filter(target => sources.includes(target)))
      visit(target, [...path, file]);
  }
  for (const file of sources) visit(file, []);
});

t.test('an import from another folder begins at the root', async t => {
  for (const file of globSync('{schemas,drizzle,src,plugins,scripts,test,bench}/**/*.ts'))
    t.notOk(
      namesIn(file).some(name => name.startsWith('..')),
      file,
    );
});

t.test('only the process layer reads the environment', async t => {
  for (const file of sources.filter(file => layerOf(file) < top && file !== 'src/config/settings.ts'))
    t.notMatch(readFileSync(file, 'utf8'), /process\.env/, file);
});
