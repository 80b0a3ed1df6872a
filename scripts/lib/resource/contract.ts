import { capitalize, withArticle } from '../../../src/core/text.ts';
import { type Field, type Plan, textFields } from './plan.ts';

/** schemas/<name>.ts: what clients send and get. */
export function schemaFile(plan: Plan): string {
  const { name, plural, Type, parents, fields } = plan;
  const texts = textFields(plan);
  const imports = [parents.length > 0 && 'Id', 'strict', texts.length > 0 && 'text'].filter(Boolean);
  const needsType = texts.length < fields.length;
  return `import { type Static${needsType ? ', Type' : ''} } from '@sinclair/typebox';
import { ${imports.join(', ')} } from './common.ts';
import { listOf, listParameters${texts.length + parents.length > 0 ? ', only' : ''} } from './lists.ts';
import { creationOf, recordOf, replacementOf, updateOf } from './records.ts';

const members = {
${fields.map(field => `  ${field.name}: ${memberOf(field)},`).join('\n')}
${parents.map(parent => `  ${parent.name}Id: { ...Id, description: 'The id of the ${parent.name} that the ${name} belongs to.' },`).join('\n')}
};

export const ${Type} = recordOf('${Type}', '${capitalize(withArticle(name))}.', members);
export type ${Type} = Static<typeof ${Type}>;

export const ${Type}Create = creationOf('${Type}', members);
export type ${Type}Create = Static<typeof ${Type}Create>;

export const ${Type}Replace = replacementOf('${Type}', members);
export type ${Type}Replace = Static<typeof ${Type}Replace>;

export const ${Type}Update = updateOf('${Type}', members);
export type ${Type}Update = Static<typeof ${Type}Update>;

export const ${name}Sorts = [${['createdAt', ...texts.map(field => field.name)].map(quoted).join(', ')}] as const;
export const ${Type}Query = strict({
  ...listParameters(${name}Sorts),
${texts.map(field => `  ${field.name}: only(members.${field.name}, 'Only ${plural} with exactly this ${field.words}.'),`).join('\n')}
${parents.map(parent => `  ${parent.name}: only(Id, 'Only ${plural} of the ${parent.name} with this id.'),`).join('\n')}
});
export type ${Type}Query = Static<typeof ${Type}Query>;

export const ${Type}List = listOf(${Type}, '${Type}List');
`;
}

const quoted = (name: string) => `'${name}'`;

function memberOf({ words, type }: Field): string {
  switch (type) {
    case 'string':
      return `text(1, 500, 'The ${words}, 1 to 500 characters.', '${capitalize(withArticle(words))}')`;
    case 'integer':
      return `Type.Integer({ minimum: -2147483648, maximum: 2147483647, description: 'The ${words}.', examples: [1] })`;
    case 'boolean':
      return `Type.Boolean({ description: 'Whether it is ${words}.', examples: [true] })`;
  }
}

/** plugins/rest/<plural>.ts: the six routes. */
export const routesFile = ({ name, plural, Type, Types }: Plan): string => `
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ${['', 'Create', 'List', 'Query', 'Replace', 'Update'].map(suffix => Type + suffix).join(', ')} } from '../../schemas/${name}.ts';
import { change${Type}, ${name}, create${Type}, delete${Type}, list${Types} } from '../../src/services/${plural}.ts';
import { sendChanged, sendCreated, sendDeleted, sendPage, sendRecord } from './replies.ts';
import { resourceRoutes } from './resource.ts';

export const ${name}Routes: FastifyPluginAsyncTypebox = async app => {
  const route = resourceRoutes(${Type}, ${name});
  app.get('/${plural}', route.list(${Type}Query, ${Type}List), async ({ context, query }, reply) =>
    sendPage(reply, await list${Types}(context, query)),
  );
  app.post('/${plural}', route.create(${Type}Create), async ({ body }, reply) =>
    sendCreated(reply, context => create${Type}(context, body)),
  );
  app.get('/${plural}/:${name}_id', route.get(), async ({ context, params }, reply) =>
    sendRecord(reply, await ${name}.get(context, params.${name}_id)),
  );
  app.put('/${plural}/:${name}_id', route.replace(${Type}Replace), async ({ context, params, body, condition }, reply) =>
    sendChanged(reply, await change${Type}(context, params.${name}_id, body, condition)),
  );
  app.patch('/${plural}/:${name}_id', route.update(${Type}Update), async ({ context, params, body, condition }, reply) =>
    sendChanged(reply, await change${Type}(context, params.${name}_id, body, condition)),
  );
  app.delete('/${plural}/:${name}_id', route.remove(), async ({ context, params, query, condition }, reply) =>
    sendDeleted(reply, delete${Type}(context, params.${name}_id, query, condition)),
  );
};
`;

/** plugins/graphql/resources/<plural>.ts: types, queries, mutations and both directions of each relation. */
export const graphqlFile = ({ name, plural, Type, Types, parents }: Plan): string => `
import { ${['', 'Create', 'Query', 'Replace', 'Update'].map(suffix => Type + suffix).join(', ')} } from '../../../schemas/${name}.ts';
import { change${Type}, ${name}, ${parents.map(parent => `${relationName(plural, parent.name)}, `).join('')}create${Type}, delete${Type}, list${Types} } from '../../../src/services/${plural}.ts';
import { listFields } from '../fields/lists.ts';
import { mutationFields, recordFields } from '../fields/records.ts';
${parents.length > 0 ? `import { relationFields } from '../fields/relations.ts';` : ''}
import type { Part } from '../part.ts';

export const ${plural}: Part[] = [
  recordFields(${name}, ${Type}),
  listFields({ ...${name}, record: ${Type} }, ${Type}Query, list${Types}),
${parents.map(parent => `  relationFields(${relationName(plural, parent.name)}, ${Type}, ${Type}Query, list${Types}),`).join('\n')}
  mutationFields(
    ${name},
    ${Type},
    { create: ${Type}Create, replace: ${Type}Replace, update: ${Type}Update },
    { create: create${Type}, change: change${Type}, remove: delete${Type} },
  ),
];
`;

/** The name of a relation: `commentsOfPost`. */
export const relationName = (plural: string, parent: string) => `${plural}Of${capitalize(parent)}`;
