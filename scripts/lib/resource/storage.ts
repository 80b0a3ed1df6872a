import { getTableName } from '../../../drizzle/orm.ts';
import { withArticle } from '../../../src/core/text.ts';
import { relationName } from './contract.ts';
import { type Field, type Plan, textFields } from './plan.ts';

/** drizzle/tables/<plural>.ts: the stored shape. */
export function tableFile(plan: Plan): string {
  const { plural, parents, fields } = plan;
  const texts = textFields(plan);
  const uses = (type: Field['type']) => fields.some(field => field.type === type);
  const imports = [
    uses('boolean') && 'boolean',
    texts.length > 0 && 'check',
    parents.length > 0 && 'foreignKey',
    texts.length + parents.length > 0 && 'index',
    'integer',
    'pgTable',
    texts.length > 0 && 'sql',
    'uuid',
  ].filter(Boolean);
  return `import { instant${texts.length > 0 ? ', textByCode' : ''} } from '../columns.ts';
import { ${imports.join(', ')} } from '../orm.ts';
${parents.map(parent => `import { ${parent.plural} } from './${parent.plural}.ts';`).join('\n')}

export const ${plural} = pgTable(
  '${plural}',
  {
    id: uuid().primaryKey(),
${fields.map(field => `    ${field.name}: ${columnOf(field)},`).join('\n')}
${parents.map(parent => `    ${parent.name}Id: uuid('${parent.name}_id').notNull(),`).join('\n')}
    version: integer().notNull().default(1),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  ${texts.length + parents.length > 0 ? 'table' : '()'} => [
${parents.map(parent => `    foreignKey({ name: '${plural}_${parent.name}_id_fkey', columns: [table.${parent.name}Id], foreignColumns: [${parent.plural}.id] }),`).join('\n')}
${parents.map(parent => `    index('${plural}_${parent.name}_index').on(table.${parent.name}Id, table.id),`).join('\n')}
${texts.map(field => `    index('${plural}_${field.column}_index').on(table.${field.name}, table.id),`).join('\n')}
${texts.map(field => `    check('${plural}_${field.column}_length', sql\`char_length(\${table.${field.name}}) between 1 and 500\`),`).join('\n')}
  ],
);
`;
}

function columnOf({ name, column, type }: Field): string {
  const make = { string: 'textByCode', integer: 'integer', boolean: 'boolean' }[type];
  return `${make}(${column === name ? '' : `'${column}'`}).notNull()`;
}

/** The migration, commented. The service runs it at its next start. */
export function migrationFile(plan: Plan): string {
  const { plural, parents, fields } = plan;
  const texts = textFields(plan);
  const types = { string: 'text collate "C"', integer: 'integer', boolean: 'boolean' };
  const lines = [
    '"id" uuid primary key not null',
    ...fields.map(({ column, type }) => `"${column}" ${types[type]} not null`),
    ...parents.map(parent => `"${parent.name}_id" uuid not null`),
    '"version" integer default 1 not null',
    '"created_at" timestamp (3) with time zone not null',
    '"updated_at" timestamp (3) with time zone not null',
    ...texts.map(({ column }) =>
      constraint(plural, `${column}_length`, `check (char_length("${column}") between 1 and 500)`),
    ),
    // No cascade: the service deletes children itself, so that they are in the audit log.
    ...parents.map(({ name, table }) =>
      constraint(
        plural,
        `${name}_id_fkey`,
        `foreign key ("${name}_id") references "${getTableName(table)}" ("id")`,
      ),
    ),
  ];
  const indexes = [
    ...parents.map(({ name }) => [name, `${name}_id`]),
    ...texts.map(({ column }) => [column, column]),
  ];
  return [
    `-- The table is new, so nothing below holds a lock for long.
create table "${plural}" (\n${lines.map(line => `\t${line}`).join(',\n')}\n);`,
    ...indexes.map(
      ([name, column]) =>
        `create index "${plural}_${name}_index" on "${plural}" using btree ("${column}","id");`,
    ),
    `-- Keeps exact totals, and the start of any page.
select list_watch('${plural}', '{}');`,
  ]
    .join('\n--> statement-breakpoint\n')
    .concat('\n');
}

const constraint = (plural: string, name: string, rule: string) => `constraint "${plural}_${name}" ${rule}`;

/** src/services/<plural>.ts: the rules. */
export function serviceFile(plan: Plan): string {
  const { name, plural, Type, Types, parents } = plan;
  const texts = textFields(plan);
  const filters = [
    ...texts.map(field => `${field.name}: ${plural}.${field.name}`),
    ...parents.map(parent => `${parent.name}: ${plural}.${parent.name}Id`),
  ];
  const filterNames = [...texts, ...parents].map(each => `'${each.name}'`).join(' | ') || 'never';
  const unknown = parents.map(parent => parent.name).join(' or the ');
  const invalid = parents.length > 0 ? `; invalid when the ${unknown} does not exist` : '';
  const names = parents.map(parent => `\`${plural} of \${input.${parent.name}Id}\``);
  const turns = names.length > 0 ? `const turns = [${names.join(', ')}];` : '';
  const options = names.length > 0 ? ', { turns, shared: true }' : '';
  return `
import { ${plural} } from '../../drizzle/tables/${plural}.ts';
import type { ${Type}, ${Type}Create, ${name}Sorts } from '../../schemas/${name}.ts';
import { need } from '../access/need.ts';
import type { Context } from '../core/context.ts';
import { write } from '../database/write.ts';
import { insertionOf } from './audit.ts';
import { removalOf } from './deletions.ts';
import { kindOf } from './kinds.ts';
import { pagedList } from './lists/pagedList.ts';
${parents.map(parent => `import { ${parent.name} } from './${parent.plural}.ts';`).join('\n')}
import { changeOf } from './records.ts';
${parents.length > 0 ? `import { belongsTo } from './relations.ts';` : ''}

export const ${name} = kindOf('${name}', '${plural}', ${plural});

${parents.map(parent => `export const ${relationName(plural, parent.name)} = belongsTo(${name}, ${plural}.${parent.name}Id, ${parent.name});`).join('\n')}

const insert${Type} = insertionOf(${name});

/** A page of ${plural}. */
export const list${Types} = pagedList<${Type}, ${filterNames}, (typeof ${name}Sorts)[number]>({
  ...${name},
  scope: 'read',
  filters: { ${filters.join(', ')} },
  sorts: { createdAt: [], ${texts.map(field => `${field.name}: [${plural}.${field.name}]`).join(', ')} },
});

/** The new ${name}${invalid}. */
export async function create${Type}(context: Context, input: ${Type}Create): Promise<${Type}> {
  need(context, 'write');
${turns}
  return write(context, inside => insert${Type}(inside, input)${options});
}

/** The ${name} after the change, which may name all members or some${invalid}. */
export const change${Type} = changeOf(${name});

/** Deletes ${withArticle(name)}, or with \`cascade\` what belongs to it too. */
export const delete${Type} = removalOf(${name});
`;
}
