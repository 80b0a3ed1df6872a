import type { TObject, TSchema } from '@sinclair/typebox';
import { idPattern } from '../../schemas/common.ts';

type Enums = Record<string, string>;

const describe = (text = '') => JSON.stringify(text.replaceAll('`', ''));

function scalarOf(schema: TSchema): string {
  if (schema.pattern === idPattern) return 'ID';
  if (schema.format === 'date-time') return 'DateTime';
  return { integer: 'Int', boolean: 'Boolean' }[schema.type as string] ?? 'String';
}

const isNullable = ({ type }: TSchema) => Array.isArray(type) && type.includes('null');

function toSDL(head: string, { properties, required = [], description }: TObject, enums: Enums): string {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const nonNull = required.includes(name) && !isNullable(schema);
    return `${describe(schema.description)} ${name}: ${enums[name] ?? scalarOf(schema)}${nonNull ? '!' : ''}`;
  });
  return `${describe(description)} ${head} {\n${fields.join('\n')}\n}`;
}

/** A type with the members of a schema, so that REST and GraphQL share one definition. */
export const toType = (schema: TObject, enums: Enums = {}, name = schema.$id) =>
  toSDL(`type ${name}`, schema, enums);

export const toInput = (schema: TObject, enums: Enums = {}) =>
  toSDL(`input ${schema.$id}Input`, schema, enums);

export const toEnum = (name: string, { description, enum: values }: TSchema) =>
  `${describe(description)} enum ${name} { ${values.join(' ')} }`;

/** GraphQL names cannot start with a sign: what is `-title` in REST is `title_desc` here. */
export const toSortEnum = (name: string, { properties }: TObject) =>
  toEnum(name, {
    ...properties.sort,
    description: 'The order of a list. Equal values are in the order of creation.',
    enum: properties.sort?.enum.map((value: string) => value.replace(/^-(\w+)$/, '$1_desc')),
  } as TSchema);
export const fromSortEnum = (value: string) => value.replace(/^(\w+)_desc$/, '-$1');
