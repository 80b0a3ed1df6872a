import { globSync, readFileSync } from 'node:fs';
import t from 'tap';
import { nobody } from '#src/core/actor.ts';
import { domain } from '#src/domain/index.ts';
import { user } from '#src/domain/users.ts';
import { PagedList } from '#src/records/lists/pagedList.ts';

/** Functions without a check: their callers have checked, or the signature of an event authorizes it. */
const helpers = ['recordWrites', 'receiveEvent'];

const files = globSync('src/{records,changes,people,subscriptions,webhooks,effects,domain}/**/*.ts');

// The next test recognizes a service function by this name.
t.test('a context is called `context`, or `inside` where the caller has checked', async t => {
  for (const file of files)
    for (const [, name] of readFileSync(file, 'utf8').matchAll(/\(\s*(\w+): Context\b/g))
      t.ok(name === 'context' || name === 'inside', `${name} in ${file}`);
});

t.test('every service function checks the scope before it does anything', async t => {
  const context = {
    actor: nobody,
    db: trap('the database'),
    now: trap('the clock'),
    transport: 'rest',
    origin: null,
  };
  const parts: [string, object][] = [['a list', user.list]];
  for (const file of files) {
    const module = await import(`../../${file}`);
    // An exported object, such as a kind of record, has functions of its own.
    const objects = Object.values(module).filter(value => typeof value === 'object' && value !== null);
    for (const part of [module, ...objects]) parts.push([file, part as object]);
  }
  // Jobs and handlers run for the system, which may do anything.
  const ofTheSystem = new Set<object>([
    ...domain.jobs,
    ...[...domain.handlers.values()].flatMap(handlers => [...handlers.values()]),
  ]);
  let checked = 0;
  for (const [file, part] of parts.filter(([, part]) => !ofTheSystem.has(part)))
    for (const name of namesIn(part)) {
      const service = part[name as keyof typeof part] as unknown;
      if (typeof service !== 'function' || helpers.includes(name)) continue;
      if (!/^(async )?(function\s*)?\w*\s*\(\s*context\b/.test(service.toString())) continue;
      checked++;
      await t.rejects(
        async () => service.call(part, context, {}, {}),
        { code: 'unauthenticated' },
        `${name} in ${file} checks the scope first`,
      );
    }
  t.ok(checked >= 29, `${checked} service functions were found`);
});

const namesIn = (part: object) => [
  ...Object.keys(part),
  ...(part instanceof PagedList ? Object.getOwnPropertyNames(PagedList.prototype) : []),
];

/** An object that fails the test when it is used. */
function trap(name: string): never {
  const fail = () => {
    throw new Error(`${name} was used before the scope was checked`);
  };
  return new Proxy(() => {}, { get: fail, apply: fail }) as never;
}
