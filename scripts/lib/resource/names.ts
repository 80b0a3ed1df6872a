import { existsSync, globSync, readFileSync } from 'node:fs';
import { buildSchema, isObjectType, specifiedScalarTypes } from 'graphql';
import { parse } from 'yaml';
import { pgTable } from '../../../drizzle/orm.ts';
import { readOnly } from '../../../schemas/common.ts';
import { listParameters } from '../../../schemas/lists.ts';
import { UsageError } from '../../../src/command.ts';
import { capitalize } from '../../../src/core/text.ts';
import { uniquesOf } from './files.ts';
import type { Plan } from './plan.ts';

/** Refuses names that something else has, before a file is written. */
export function refuseTakenNames(plan: Plan, files: Record<string, string>, list: string): void {
  const existing = Object.keys(files).find(path => existsSync(path));
  if (existing) throw new UsageError(`The file ${existing} already exists: choose another name or --plural`);
  refuseKnown('member', membersOf(plan), [
    ...Object.keys({ ...readOnly, ...listParameters([]), first: 1, last: 1 }),
    // GraphQL has no such words to sort by, and an object with this member would be a promise.
    ...['true', 'false', 'null', 'then'],
  ]);
  const [member] = membersOf(plan).filter(name => name in pgTable('any', {}));
  if (member) throw new UsageError(`The member '${member}' cannot be: a table has a property of this name`);
  refuseKnown('table', [plan.table], tablesInMigrations());
  if (plan.table.startsWith('pg_'))
    throw new UsageError('Names of tables that begin with pg_ are those of PostgreSQL');
  const { types, fieldsOf } = graphqlNames();
  const { segments, operations, schemas } = pathNames();
  refuseKnown('type', typesOf(plan), [...types, ...schemas]);
  refuseKnown('GraphQL field', [plan.name, ...listsOf(plan.plural)], fieldsOf('Query'));
  for (const { children, resource } of plan.parents)
    refuseKnown('GraphQL field', listsOf(children), fieldsOf(capitalize(resource.name)));
  refuseKnown('path', [plan.path], segments);
  refuseKnown('operation', operationsOf(plan), operations);
  for (const [path, text] of Object.entries({ ...files, 'src/resources.ts': list }))
    refuseIdentifiers(path, text);
  const columns = [...columnsOf(plan), ...uniquesOf(plan).map(({ columns }) => columns.join('_'))];
  const longest = plan.table.length + Math.max(...columns.map(column => column.length)) + '__length'.length;
  if (longest > 63)
    throw new UsageError('The names are too long: those of indexes have at most 63 characters');
}

const membersOf = ({ parents, fields }: Plan) => [
  ...fields.map(({ name }) => name),
  ...parents.flatMap(({ name, member }) => [name, member]),
];
const listsOf = (plural: string) => [plural, `${plural}Count`, `${plural}Connection`];
const columnsOf = ({ parents, fields }: Plan) => [...parents, ...fields].map(({ column }) => column);
const typesOf = ({ title, fields }: Plan) => [
  ...['', 'Create', 'Replace', 'Update', 'List', 'Query', 'Sort', 'Edge', 'Connection'].map(
    part => title + part,
  ),
  ...fields.filter(({ type }) => type.words).map(({ name }) => title + capitalize(name)),
];
const operationsOf = ({ title, plural }: Plan) => [
  `list${capitalize(plural)}`,
  ...['get', 'create', 'replace', 'update', 'delete'].map(verb => verb + title),
];

function refuseKnown(what: string, names: string[], known: string[]): void {
  const all = [...known, ...names];
  const taken = names.find(name => all.indexOf(name) !== all.lastIndexOf(name));
  if (taken !== undefined) throw new UsageError(`The ${what} '${taken}' is taken: choose another name`);
}

/** Names that a file would declare twice, and words of the language. */
function refuseIdentifiers(path: string, text: string): void {
  const imports = [...text.matchAll(/^import \{(.*)\} from/gm)].flatMap(([, names = '']) => names.split(','));
  const declared = [...text.matchAll(/^(?:export )?(?:const|type) (\w+)/gm)].map(([, name = '']) => name);
  const names = [...imports.map(name => name.trim().split(' ').at(-1) ?? ''), ...declared];
  const wrong = names.find((name, i) => !isIdentifier(name) || names.indexOf(name) < i);
  if (wrong !== undefined)
    throw new UsageError(`The word '${wrong}' has another meaning in ${path}: choose another`);
}

function isIdentifier(name: string): boolean {
  try {
    // What every object has would be hidden. An async function, because `await` is a word of modules.
    if (name in {} || ['undefined', 'globalThis'].includes(name)) return false;
    return typeof new Function(`'use strict'; return async () => { const ${name} = 0; };`) === 'function';
  } catch {
    return false;
  }
}

const tablesInMigrations = () =>
  globSync('drizzle/migrations/*.sql').flatMap(file =>
    [...readFileSync(file, 'utf8').matchAll(/create table "(\w+)"/gi)].map(([, name = '']) => name),
  );

function graphqlNames() {
  const schema = buildSchema(readFileSync('schema.graphql', 'utf8'));
  const types = [
    ...Object.keys(schema.getTypeMap()),
    ...specifiedScalarTypes.map(({ name }) => name),
    'Date',
  ];
  const fieldsOf = (name: string) => {
    const type = schema.getType(name);
    return isObjectType(type) ? Object.keys(type.getFields()) : [];
  };
  return { types, fieldsOf };
}

function pathNames() {
  const { paths, components } = parse(readFileSync('openapi.yaml', 'utf8'));
  const operations = Object.values<Record<string, { operationId: string }>>(paths).flatMap(Object.values);
  return {
    segments: Object.keys(paths).map(path => path.split('/')[2] ?? ''),
    operations: operations.map(({ operationId }) => operationId),
    schemas: Object.keys(components.schemas),
  };
}
