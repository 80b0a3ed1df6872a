// runs: in its own process
import { type TProperties, Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import t from 'tap';
import { recordColumns } from '#drizzle/columns.ts';
import { index, pgTable } from '#drizzle/orm.ts';
import { contractOf } from '#schemas/parts/contract.ts';
import { buildApp } from '#src/app.ts';
import { readSettings } from '#src/config/settings.ts';
import { OperatorError } from '#src/core/errors.ts';
import { domain } from '#test/world/index.ts';
import { tending } from '#test/world/tendings.ts';

/** Puts the service together with one more resource and its routes. */
async function start(name: string, given: object = {}, ...routes: typeof domain.routes) {
  const path = `${name}s`;
  const resource = {
    ...tending,
    name,
    plural: path,
    path,
    parents: {},
    counted: [],
    ...given,
  } as typeof tending;
  const app = await buildApp({
    settings: readSettings({ NODE_ENV: 'test' }),
    database: { kind: 'embedded', available: () => false } as never,
    log: pino({ level: 'silent' }),
    domain: {
      ...domain,
      followed: [...domain.followed, resource],
      routes: [...domain.routes, ...routes],
    },
  });
  await app.close();
}
const { contract } = tending;
const members = (properties: TProperties) => ({
  contract: { ...contract, create: Type.Object(properties) },
});
const filters = (...filters: string[]) => ({ contract: { ...contract, filters } });

t.test('a name that means something else in its place is refused at the start', async t => {
  const inChanges = 'a parameter of GET /api/changes';
  const ofTables = 'a property of every table';
  const text = Type.String();
  const refused: [name: string, given: object, taken: string, what: string, meaning: string][] = [
    ['action', {}, 'action', 'a resource', 'a member of every change'],
    ['cursor', {}, 'cursor', 'a resource', 'a member of every change'],
    ['doc', {}, 'docs', "the list of 'doc'", 'a link of GET /'],
    ['key', { plural: 'keyrings' }, 'key.create', "an action of 'key'", 'another in the audit log'],
    ['float', { title: 'Float' }, 'Float', "the type of 'float'", 'one of GraphQL'],
    ['note', members({ getSQL: text }), 'getSQL', "a member of 'note'", ofTables],
    ['note', members({ constructor: text }), 'constructor', "a member of 'note'", ofTables],
    ['note', { parents: { resource: 'userId' } }, 'resource', "a relation or filter of 'note'", inChanges],
    ['note', { counted: ['after'] }, 'after', "a relation or filter of 'note'", inChanges],
  ];
  for (const [name, given, taken, what, meaning] of refused) {
    const message = `'${taken}' cannot be the name of ${what}: it is ${meaning}.`;
    await t.rejects(start(name, given), new OperatorError(message), message);
  }
  for (const [name, path] of Object.entries({ change: 'changes', webhook: 'webhooks/:provider' })) {
    const message = `'${name}' cannot be the name of a resource: its path is that of /api/${path}.`;
    await t.rejects(start(name), new OperatorError(message), message);
  }
});

t.test('a name that PostgreSQL would cut is refused', async t => {
  const long = 'x'.repeat(64);
  const table = pgTable('notes', recordColumns(), ({ id }) => [index(long).on(id)]);
  const message = `'${long}' has more than 63 characters: rename 'note' or a member.`;
  await t.rejects(start('note', { table }), new OperatorError(message));
});

t.test('a contract refuses names that every record or every list has', async t => {
  const none = { members: {}, sorts: [], filters: {} };
  for (const name of ['id', 'version', 'createdAt']) {
    const message = `'${name}' cannot be a member of Note: every record has one.`;
    t.throws(() => contractOf('Note', 'A note.', { ...none, members: { [name]: Type.String() } }), {
      message,
    });
  }
  for (const name of ['sort', 'after', 'createdSince', 'last']) {
    const message = `'${name}' cannot be a filter of Note: every list has a parameter of this name.`;
    t.throws(() => contractOf('Note', 'A note.', { ...none, filters: { [name]: 'Only some.' } }), {
      message,
    });
  }
});

t.test('two operations of one name are refused', async t => {
  const schema = { operationId: 'listTendings' };
  const route = async (app: FastifyInstance) =>
    void app.get('/x', { schema, config: { scope: 'public' } }, () => {});
  await t.rejects(
    start('note', {}, route),
    new OperatorError("Two operations have the name 'listTendings': rename a resource."),
  );
});

t.test('other words of the service are free', async t => {
  const given = {
    parents: { customer: 'userId', key: 'userId' },
    ...filters('action', 'resource', 'key'),
  };
  for (const name of ['note', 'event', 'customer']) await t.resolves(start(name, given), name);
  await t.resolves(start('note', members({ key: Type.String(), resource: Type.String() })));
});
