import t from 'tap';
import { schemaText } from '#plugins/graphql/schema.ts';
import { domain } from '#test/world/index.ts';

// Bug: such a resolver did not stop the start, and every query was a 500.
t.test('a resolver of no field is refused when the schema is generated', async t => {
  const withPart = (resolvers: Record<string, object>) => () =>
    schemaText([
      ...domain.fields,
      { sdl: 'extend type User { initials: String! }', resolvers: resolvers as never },
    ]);
  const resolve = () => 'AL';
  t.match(withPart({ User: { initials: resolve } })(), 'initials: String!');
  for (const [type, field] of Object.entries({ User: 'initial', Usr: 'initials' }))
    t.throws(withPart({ [type]: { [field]: resolve } }), {
      message: `There is no field ${type}.${field} for a resolver.`,
    });
});
