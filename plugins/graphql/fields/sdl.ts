import type { TObject, TSchema } from '@sinclair/typebox';
import { anyJson, idPattern } from '#schemas/parts/common.ts';
import { argumentName, filterOf } from '#schemas/parts/filters.ts';
import { capitalize } from '#src/core/text.ts';

const describe = (text = '') => JSON.stringify(text.replaceAll('`', ''));

/** The type of a member. A member with fixed words has an enum: the `state` of an `Order` is an `OrderState`. */
function sdlType(record: string, member: string, schema: TSchema): string {
  if (schema.enum) return `${record}${capitalize(member)}`;
  if (schema.pattern === idPattern) return 'ID';
  if (schema[anyJson]) return 'JSON';
  if (schema.format === 'date-time') return 'DateTime';
  if (schema.format === 'date') return 'Date';
  // Int has 32 bits.
  if (schema.maximum > 2 ** 31 - 1) return 'Float';
  if (schema.type === 'array') return `[${schema.items.$id}!]`;
  return (
    { integer: 'Int', number: 'Float', boolean: 'Boolean' }[[schema.type].flat()[0] as string] ?? 'String'
  );
}

const isNullable = ({ type }: TSchema) => Array.isArray(type) && type.includes('null');

/** A type or an input; the enums of its members are those of a record. */
export function toSDL(
  head: string,
  record: string,
  { properties, required = [], description }: TObject,
): string {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const nonNull = required.includes(name) && !isNullable(schema);
    return `${describe(schema.description)} ${name}: ${sdlType(record, name, schema)}${nonNull ? '!' : ''}`;
  });
  return `${describe(description)} ${head} {\n${fields.join('\n')}\n}`;
}

/** The type of a record and its enums, from the schema that REST uses. */
export function toType(record: TObject, name = record.$id): string {
  const { $id = '', properties } = record;
  const enums = Object.entries<TSchema>(properties).filter(([, schema]) => schema.enum);
  const types = enums.map(([member, schema]) => toEnum(sdlType($id, member, schema), schema));
  return [...types, toSDL(`type ${name}`, $id, record)].join('\n');
}

const toEnum = (name: string, { description, enum: values }: TSchema) =>
  `${describe(description)} enum ${name} { ${values.join(' ')} }`;

/** The arguments with which a list is read: the parameters of its REST query, all optional. */
export const toArguments = (record: string, parameters: Record<string, TSchema>) =>
  Object.entries(parameters)
    .map(([parameter, schema]) => {
      const name = filterOf(parameter);
      // A bound has the type of its filter.
      const single = schema.type === 'boolean' ? schema : (parameters[name] ?? schema);
      const value = sdlType(record, name, schema.items ?? single);
      return `${argumentName(parameter)}: ${schema.items ? `[${value}!]` : value}`;
    })
    .join(', ');

/** GraphQL names cannot start with a sign: what is `-title` in REST is `title_desc` here. */
export const toSortEnum = (record: string, sort: TSchema | undefined) =>
  toEnum(`${record}Sort`, {
    ...sort,
    description: 'The order of a list. Equal values are in the order of creation.',
    enum: sort?.enum.map((value: string) => value.replace(/^-(\w+)$/, '$1_desc')),
  } as TSchema);
export const fromSortEnum = (value: string) => value.replace(/^(\w+)_desc$/, '-$1');
