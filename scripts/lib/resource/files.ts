import { OperatorError } from '#src/core/errors.ts';
import { capitalize, withArticle } from '#src/core/text.ts';
import { columnNamed, type Field, type Parent, type Plan } from './plan.ts';

/** The files of a resource by their paths. Biome formats them, and removes the imports that they do not use. */
export const makeFiles = (plan: Plan): Record<string, string> => ({
  [`schemas/${plan.name}.ts`]: schemaFile(plan),
  [`drizzle/tables/${plan.plural}.ts`]: tableFile(plan),
  [`src/domain/${plan.plural}.ts`]: serviceFile(plan),
  [`test/domain/${plan.plural}.test.ts`]: testFile(plan),
});

/** The schema of what clients send and get. */
function schemaFile({ name, noun, nouns, title, parents, fields, search }: Plan): string {
  const members = [
    ...fields.map(field => `${field.name}: ${inBody(field, memberSchema(field), field.type.words)}`),
    ...parents.map(parent => {
      const description = `'The id of the ${parent.resource.noun} that the ${noun} belongs to.'`;
      return `${parent.member}: ${inBody(parent, `{ ...Id, description: ${description} }`)}`;
    }),
  ];
  const sorts = fields.filter(({ type }) => type.isSorted);
  const filter = (name: string, description: string, kind = 'is') =>
    `${name}: ${kind === 'is' ? `'${description}'` : `${kind}('${description}')`}`;
  const filters = [
    ...fields
      .filter(({ type }) => type.filter)
      .map(({ name, words, type }) => filter(name, `Only ${nouns} with exactly this ${words}.`, type.filter)),
    ...parents.map(({ name, resource }) =>
      filter(name, `Only ${nouns} of the ${resource.noun} with this id.`, 'anyOf'),
    ),
  ];
  return `import type { Static } from '@sinclair/typebox';
import { boolean, cents, date, email, Id, json, number, oneOf, text, time, wholeNumber } from './parts/common.ts';
import { contractOf, orDefault, orNull } from './parts/contract.ts';
import { anyOf, prefix, range } from './parts/filters.ts';

export const ${name} = contractOf('${title}', '${capitalize(withArticle(noun))}.', {
  members: { ${members.join(', ')} },
  sorts: [${sorts.map(field => `'${field.name}'`).join(', ')}],
  filters: { ${filters.join(', ')} },
  ${search.length > 0 ? `search: [${search.map(name => `'${name}'`).join(', ')}],` : ''}
});
export type ${title} = Static<typeof ${name}.record>;
`;
}

const memberSchema = ({ type, words }: Field) => `${type.member}(${type.args(words)})`;

function inBody({ isOptional }: { isOptional: boolean }, member: string, words?: string[]): string {
  if (isOptional) return `orNull(${member})`;
  return words ? `orDefault(${member}, '${words[0]}')` : member;
}

/** The table of the records. */
function tableFile(plan: Plan): string {
  const { name, plural, table, title, parents, fields } = plan;
  const columns = [
    ...fields.map(field => `${field.name}: ${columnLine(field, title)}`),
    ...parents.map(parent => `${parent.member}: uuid('${parent.column}')${notNull(parent)}`),
  ];
  const rules = constraintLines(plan);
  return `import type { ${title} } from '#schemas/${name}.ts';
import { type ColumnsOf, instant, json, recordColumns, searchable, textByCode } from '#drizzle/columns.ts';
import { bigint, boolean, check, date, doublePrecision, foreignKey, index, integer, pgTable, sql, uniqueIndex, uuid } from '#drizzle/orm.ts';
${importLines(plan, ({ plural }) => plural)}

export const ${plural} = pgTable(
  '${table}',
  { ...recordColumns(), ${columns.join(', ')} } satisfies ColumnsOf<${title}>,
  ${rules.length > 0 ? `table => [${rules.join(', ')}],` : ''}
);
`;
}

/** Imports the other resources to which this one belongs, each by the name that `nameIn` gives it. */
function importLines({ name, parents }: Plan, nameIn: (resource: Parent['resource']) => string): string {
  const others = new Set(parents.map(({ resource }) => resource).filter(each => each.name !== name));
  return [...others].map(each => `import { ${nameIn(each)} } from './${each.plural}.ts';`).join('\n');
}

/** Keys, indexes and checks. The index of a filter that is not unique ends in the id, as the order of a list does. */
function constraintLines(plan: Plan): string[] {
  const { plural, table, parents, fields, search } = plan;
  const filtered = fields.filter(({ type, isUnique }) => type.filter && !isUnique);
  const words = search.map(name => `table.${name}`).join(', ');
  return [
    ...parents.map(({ member, column, resource }) => {
      const of = resource.plural === plural ? 'table' : resource.plural;
      return `foreignKey({ name: '${table}_${column}_fkey', columns: [table.${member}], foreignColumns: [${of}.id] })`;
    }),
    ...parents.map(({ name, member }) => indexOn(table, columnNamed(name), `table.${member}`)),
    ...filtered.map(field => indexOn(table, field.column, indexExpression(field))),
    ...(words
      ? [`index('${table}_search_index').using('gin', searchable([${words}])).with({ fastupdate: false })`]
      : []),
    ...uniqueKeys(plan).map(
      ({ columns, indexed }) => `uniqueIndex('${table}_${columns.join('_')}_key').on(${indexed.join(', ')})`,
    ),
    ...fields.flatMap(({ name, column, type: { check } }) =>
      check ? `check('${table}_${column}_${check.name}', sql\`${check.rule(`\${table.${name}}`)}\`)` : [],
    ),
  ];
}

const indexOn = (table: string, column: string, indexed: string) =>
  `index('${table}_${column}_index').on(${indexed}, table.id)`;
const indexExpression = ({ name, type }: Field) => type.indexed?.(`table.${name}`) ?? `table.${name}`;
const notNull = ({ isOptional }: { isOptional: boolean }) => (isOptional ? '' : '.notNull()');

function columnLine(field: Field, title: string): string {
  const { name, column, type, isOptional } = field;
  const args = [column === name ? [] : `'${column}'`, type.options ?? []].flat();
  const made = `${type.column}(${args.join(', ')})`;
  const value = `${title}['${name}']`;
  const words = type.words ? `.$type<${isOptional ? `NonNullable<${value}>` : value}>()` : '';
  return `${made}${words}${notNull(field)}${type.words && !isOptional ? `.default('${type.words[0]}')` : ''}`;
}

/** The unique fields. If there are no fields at all, the parents are unique together. */
const uniqueKeys = ({ parents, fields }: Plan) =>
  fields.length === 0
    ? [
        {
          columns: parents.map(({ column }) => column),
          members: parents.map(({ member }) => member),
          indexed: parents.map(({ member }) => `table.${member}`),
        },
      ]
    : fields
        .filter(({ isUnique }) => isUnique)
        .map(field => ({
          columns: [field.column],
          members: [field.name],
          indexed: [indexExpression(field)],
        }));

/** The fields whose values each have a total of their own. */
export const countedFields = ({ fields }: Plan) =>
  fields.filter(({ type, isOptional }) => type.words && !isOptional);

/** The service, to which rules can be added. */
function serviceFile(plan: Plan): string {
  const { name, plural, parents, owner, isPrivate } = plan;
  const counted = countedFields(plan).map(field => `'${field.name}'`);
  const unique = uniqueKeys(plan).map(({ members }) =>
    members.length === 1 ? `'${members}'` : `[${members.map(member => `'${member}'`).join(', ')}]`,
  );
  const rules = [
    counted.length > 0 && `counted: [${counted.join(', ')}]`,
    unique.length > 0 && `unique: [${unique.join(', ')}]`,
    parents.length > 0 && `belongsTo: { ${parents.map(parent => belongsToEntry(plan, parent)).join(', ')} }`,
    owner && `owner: '${owner.member}'`,
    isPrivate && `readBy: 'owner'`,
  ].filter(Boolean);
  const options = rules.length > 0 ? `, { ${rules.join(', ')} }` : '';
  return `import { ${plural} as table } from '#drizzle/tables/${plural}.ts';
import { ${name} as contract } from '#schemas/${name}.ts';
import { removalOf } from '#src/records/deletions.ts';
import { creationOf, updatesOf } from '#src/records/records.ts';
import { type Operations, resourceOf } from '#src/records/resource.ts';
${importLines(plan, ({ name }) => name)}

export const ${name} = resourceOf('${plural}', contract, table${options});

export const ${plural} = {
  resource: ${name},
  create: creationOf(${name}),
  ...updatesOf(${name}),
  remove: removalOf(${name}),
} satisfies Operations;
`;
}

function belongsToEntry({ name, plural }: Plan, { member, resource, children }: Parent): string {
  const parent = resource.name === name ? `'itself'` : resource.name;
  return `${member}: { parent: ${parent}${children === plural ? '' : `, children: '${children}'`} }`;
}

/** Tests what every resource promises. Tests of its own rules can follow. */
const testFile = ({ plural }: Plan): string => `import t from 'tap';
import { ${plural} } from '#src/domain/${plural}.ts';
import { testResource } from '#test/helper/resources/testResource.ts';

testResource(t, ${plural});
`;

/** The list of resources with the new one at its end. */
export function withResource({ plural }: Plan, list: string): string {
  const entry = `  offer(${plural}),\n`;
  const end = /^];$/m;
  if (!end.test(list))
    throw new OperatorError('src/domain/resources.ts has no line `];` before which to add a resource');
  return `import { ${plural} } from './${plural}.ts';\n${list.replace(end, found => entry + found)}`;
}
