// runs: in its own process
import { type TProperties, Type } from '@sinclair/typebox';
import { pino } from 'pino';
import t from 'tap';
import { buildApp } from '../../src/app.ts';
import { readSettings } from '../../src/config/settings.ts';
import { OperatorError } from '../../src/core/errors.ts';
import { followed } from '../../src/resources.ts';
import { post } from '../../src/services/posts.ts';

/** Puts the service together with one resource more. */
async function start(name: string, given: object = {}) {
  const path = `${name}s`;
  followed.push({ ...post, name, plural: path, path, parents: {}, counted: [], ...given } as typeof post);
  try {
    const settings = readSettings({ NODE_ENV: 'test' });
    const database = { kind: 'embedded', available: () => false } as never;
    const app = await buildApp({ settings, database, log: pino({ level: 'silent' }) });
    await app.close();
  } finally {
    followed.pop();
  }
}
const { contract } = post;
const members = (properties: TProperties) => ({
  contract: { ...contract, create: Type.Object(properties) },
});
const filters = (...filters: string[]) => ({ contract: { ...contract, filters } });

t.test(
  'a name that means something else in its place is refused at the start, and both are named',
  async t => {
    const inChanges = 'it is a parameter of GET /api/changes.';
    for (const [name, given, message] of [
      ['action', {}, "'action' cannot be the name of a resource: it is a member of every change."],
      ['cursor', {}, "'cursor' cannot be the name of a resource: it is a member of every change."],
      ['doc', {}, "'docs' cannot be the name of the list of 'doc': it is a link of GET /."],
      ['change', {}, "'change' cannot be the name of a resource: its path is that of /api/changes."],
      [
        'webhook',
        {},
        "'webhook' cannot be the name of a resource: its path is that of /api/webhooks/:provider.",
      ],
      [
        'key',
        { plural: 'keyrings', path: 'keyrings' },
        "'key.create' cannot be the name of an action of 'key': it is another in the audit log.",
      ],
      [
        'note',
        members({ version: Type.String() }),
        "'version' cannot be the name of a member of 'note': it is a member of every record.",
      ],
      [
        'note',
        filters('after'),
        "'after' cannot be the name of a filter of 'note': it is a parameter of every list.",
      ],
      [
        'note',
        filters('last'),
        "'last' cannot be the name of a filter of 'note': it is a parameter of every list.",
      ],
      [
        'note',
        { parents: { resource: 'authorId' } },
        `'resource' cannot be the name of a relation or filter of 'note': ${inChanges}`,
      ],
      [
        'note',
        { counted: ['after'] },
        `'after' cannot be the name of a relation or filter of 'note': ${inChanges}`,
      ],
    ] as const)
      await t.rejects(start(name, given), new OperatorError(message), message);
  },
);

t.test('other words of the service are free', async t => {
  const given = {
    parents: { customer: 'authorId', key: 'authorId' },
    ...filters('action', 'resource', 'key'),
  };
  for (const name of ['note', 'event', 'customer']) await t.resolves(start(name, given), name);
  await t.resolves(start('note', members({ key: Type.String(), resource: Type.String() })));
});
