import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { nameOf } from '../../plugins/docs/errorSchemas.ts';
import type { ErrorEnvelope } from '../../schemas/error.ts';
import { build } from '../helper/app.ts';
import { type Operation, operationsIn } from '../helper/openapi.ts';

const { app, call } = await build(t);
const { body: document } = await call('GET', '/docs/json', 200);
const operations = operationsIn(document);
type Schema = { $ref?: string; anyOf?: { $ref: string }[] };
type Conflict = { examples: object; schema: Schema };
const conflictsIn = ({ responses }: Operation) =>
  responses['409']?.content?.['application/json'] as Conflict | undefined;

t.test(
  'an operation shows exactly the codes of the 409s that its route names, each with an example',
  async t => {
    let checked = 0;
    for (const { path, method, operation } of operations) {
      const url = path.replace(/\{(\w+)\}/g, ':$1');
      const route = app.routes.find(each => each.url === url && each.method === method.toUpperCase());
      // GraphQL has errors of another shape.
      if (!route || path === '/api/graphql') continue;
      const { conflicts = [], idempotencyKey } = route.config ?? {};
      const codes = [
        ...conflicts.map(({ code }) => code),
        ...(idempotencyKey === 'accepted' ? ['idempotency_in_progress'] : []),
      ].toSorted();
      const shown = conflictsIn(operation);
      t.same(Object.keys(shown?.examples ?? {}).toSorted(), codes, `${method} ${path}`);
      if (shown) t.same(Object.keys(membersByCode(shown.schema)).toSorted(), codes, `${method} ${path}`);
      checked += codes.length;
    }
    t.ok(checked > 12, `${checked} conflicts`);
    const check = new Ajv2020({ strict: false }).addSchema(document, 'document');
    for (const [code, { value }] of Object.entries<{ value: ErrorEnvelope }>(document.components.examples)) {
      for (const name of ['Error', `${nameOf(code)}Error`])
        t.ok(check.validate({ $ref: `document#/components/schemas/${name}` }, value), `${code} ${name}`);
      t.match(value.error, { status: 409, details: { code } });
    }
  },
);

/** The members of the details of each code in a schema. */
function membersByCode(schema: Schema): Record<string, string[]> {
  const envelopes = [schema, ...(schema.anyOf ?? [])].flatMap(
    ({ $ref }) => ($ref && document.components.schemas[$ref.split('/').at(-1) ?? '']) ?? [],
  );
  return Object.fromEntries(
    envelopes.map(envelope => {
      const { code, ...members } = envelope.properties.error.properties.details.properties;
      const types = Object.entries<{ type: string }>(members).map(([name, { type }]) => `${name}: ${type}`);
      return [code.enum.join(), types];
    }),
  );
}
