import { existsSync } from 'node:fs';
import { components } from '../../../schemas/common.ts';
import { UsageError } from '../../../src/command.ts';
import { capitalize } from '../../../src/core/text.ts';
import { kinds } from '../../../src/resources.ts';
import type { Kind } from '../../../src/services/kinds.ts';

export interface Field {
  name: string;
  /** The name in plain English, such as `due date`. */
  words: string;
  column: string;
  type: FieldType;
}
const fieldTypes = ['string', 'integer', 'boolean'] as const;
type FieldType = (typeof fieldTypes)[number];

/** A new resource, before any file is written. */
export interface Plan {
  name: string;
  plural: string;
  /** `Comment` and `Comments`, in names of types and functions. */
  Type: string;
  Types: string;
  parents: Kind[];
  fields: Field[];
}

interface Given {
  plural?: string;
  'belongs-to'?: string;
  fields?: string;
}

/** Names that are in use: members of every record, parameters of every list, and placeholders of its statements. */
const taken = [
  ...['id', 'createdAt', 'updatedAt', 'version'],
  ...['page', 'limit', 'sort', 'after', 'before', 'first', 'last', 'createdSince', 'createdBefore'],
  ...['above', 'below', 'skip', 'most', 'owners'],
  // Every object has them, so a filter would seem to be used in each query.
  ...Object.getOwnPropertyNames(Object.prototype),
];
/** No names of resources: words of TypeScript, types of GraphQL, and names that the new files or the routes use for something else. */
const reserved = new Set(
  `arguments await break case catch class const continue debugger default delete do else enum eval export extends false
  finally for function if implements import in instanceof interface let new null package private protected public return
  static super switch this throw true try typeof var void while with yield
  boolean float int mutation query string
  again app ask body build call change changed context created error etag first id input meta need page params parent part
  path promise refused remove reply request resource route type update walked audit key keys webhook webhooks data check index
  text uuid sql`.split(/\s+/),
);

export function planOf(name = '', given: Given): Plan {
  const plural = given.plural ?? pluralOf(name);
  if (![name, plural].every(noun => /^[a-z]+$/.test(noun)))
    throw new UsageError('The name and its plural must be lower-case words, such as comment and comments');
  if (name === plural) throw new UsageError('The plural must differ from the name: choose one with --plural');
  const word = [name, plural].find(noun => reserved.has(noun));
  if (word) throw new UsageError(`The word '${word}' is reserved: choose another`);
  if (existsSync(`schemas/${name}.ts`) || components.has(capitalize(name)))
    throw new UsageError(`The resource ${name} already exists`);
  const existing = filesOf(plural).find(file => existsSync(file));
  if (existing)
    throw new UsageError(`The file ${existing} already exists: choose another plural with --plural`);
  const parents = wordsOf(given['belongs-to']).map(parentNamed);
  const fields = wordsOf(given.fields).map(fieldOf);
  if (fields.length === 0) throw new UsageError('Name at least one field, such as --fields text:string');
  const names = [...taken, ...fields.map(field => field.name), ...parents.flatMap(namesOfParent)];
  const twice = names.find((each, i) => names.indexOf(each) < i);
  if (twice !== undefined) throw new UsageError(`The name '${twice}' is taken`);
  return { name, plural, Type: capitalize(name), Types: capitalize(plural), parents, fields };
}

const filesOf = (plural: string) => [
  ...['drizzle/tables', 'src/services', 'plugins/rest', 'plugins/graphql/resources'].map(
    folder => `${folder}/${plural}.ts`,
  ),
  ...['test/rest', 'test/graphql'].map(folder => `${folder}/${plural}.test.ts`),
];
const wordsOf = (list = '') => list.split(',').filter(Boolean);
const namesOfParent = (parent: Kind) => [parent.name, `${parent.name}Id`];

function parentNamed(name: string): Kind {
  const parent = kinds.find(kind => kind.name === name);
  if (parent) return parent;
  throw new UsageError(`There is no ${name}: a parent is one of ${kinds.map(kind => kind.name).join(', ')}`);
}

function fieldOf(text: string): Field {
  const [name = '', ...types] = text.split(':');
  const type = types.join(':') || 'string';
  const known = fieldTypes.find(each => each === type);
  if (!known) throw new UsageError(`'${type}' is not a field type: use one of ${fieldTypes.join(', ')}`);
  if (!/^[a-z][A-Za-z]*$/.test(name))
    throw new UsageError(`'${name}' is not a field name: use letters, the first in lower case`);
  const words = name.replace(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`);
  return { name, words, column: words.replaceAll(' ', '_'), type: known };
}

function pluralOf(noun: string): string {
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`;
  return /(s|x|z|ch|sh)$/.test(noun) ? `${noun}es` : `${noun}s`;
}

/** The fields that a list can be filtered and sorted by. */
export const textFields = ({ fields }: Plan) => fields.filter(({ type }) => type === 'string');
