import { readOnly } from '#schemas/parts/common.ts';
import { UsageError } from '#src/command.ts';
import { capitalize, toWords } from '#src/core/text.ts';
import { domain } from '#src/domain/index.ts';
import { type FieldType, typeNamed } from './fieldTypes.ts';

export interface Field {
  name: string;
  /** The name in plain English, such as `due date`. */
  words: string;
  column: string;
  type: FieldType;
  isOptional: boolean;
  isUnique: boolean;
}

/** What a record belongs to. */
export interface Parent {
  /** What the record calls it, such as `author`. */
  name: string;
  /** The member with the id of the parent, and the column of that member. */
  member: string;
  column: string;
  resource: Named;
  isOptional: boolean;
  /** What the parent calls its children. */
  children: string;
}

interface Named {
  name: string;
  plural: string;
  noun: string;
  /** Whether only the owner may read it. */
  isPrivate: boolean;
}

/** A new resource, before any file is written. */
export interface Plan extends Named {
  nouns: string;
  path: string;
  table: string;
  /** The form of the name within names of types and operations, such as `LineItem`. */
  title: string;
  parents: Parent[];
  fields: Field[];
  /** The parent that is the user who owns a record. */
  owner: Parent | undefined;
  /** The fields with the words that a search finds. */
  search: string[];
}

export interface Description {
  plural?: string;
  'belongs-to'?: string;
  fields?: string;
  owner?: string;
  private?: boolean;
  search?: string;
}

/** A resource as its name and options describe it. */
export function makePlan(name = '', args: Description): Plan {
  const plural = args.plural ?? pluralize(name);
  if (![name, plural].every(each => /^[a-z][a-z0-9]*([A-Z][a-z0-9]*)*$/.test(each)))
    throw new UsageError('The name and its plural must be words such as note, or lineItem and lineItems');
  if (name === plural) throw new UsageError('The plural must differ from the name: choose one with --plural');
  const self = { name, plural, noun: toWords(name), isPrivate: args.private ?? false };
  const nouns = toWords(plural);
  const names = splitList(args['belongs-to']);
  const parents = names
    .map(text => readParent(text, self))
    .map((parent, _, all) => withChildrenName(parent, all, self));
  const fields = splitList(args.fields).map(readField);
  const members = [...parents.map(({ member }) => member), ...fields.map(({ name }) => name)];
  const taken = members.find((member, i) => Object.hasOwn(readOnly, member) || members.indexOf(member) < i);
  if (taken) throw new UsageError(`A record has one ${taken}`);
  if (fields.length === 0 && parents.length < 2)
    throw new UsageError('Name at least one field, such as --fields text:string, or two parents to join');
  if (fields.length === 0 && parents.some(({ isOptional }) => isOptional))
    throw new UsageError('Parents that are joined cannot be optional');
  return {
    ...self,
    nouns,
    path: nouns.replaceAll(' ', '-'),
    table: columnNamed(plural),
    title: capitalize(name),
    parents,
    fields,
    owner: ownerIn(parents, args),
    search: searchIn(fields, args),
  };
}

function searchIn(fields: Field[], { search }: Description): string[] {
  const names = splitList(search);
  const wrong = names.find(name => !fields.some(each => each.name === name && each.type.canBeSearched));
  if (wrong !== undefined)
    throw new UsageError(`--search names a field that is a string or a text, and '${wrong}' is not`);
  return names;
}

const meanings: Record<string, string> = {
  customer: 'a customer of the payment provider: in subscriptions, in events, and in /console',
  event: 'what a payment provider has sent: in /api/webhook-events, and in /console',
};

/** Says which names also mean something else in the service: both meanings work, and people mix them up. */
export const wordsOfService = ({ name, parents, fields }: Plan) =>
  [name, ...[...parents, ...fields].map(each => each.name)].flatMap(word =>
    Object.hasOwn(meanings, word) ? `The word ${word} also means ${meanings[word]}.` : [],
  );

function ownerIn(parents: Parent[], { owner, private: isPrivate }: Description): Parent | undefined {
  if (owner === undefined && isPrivate) throw new UsageError('--private needs --owner: nobody could read it');
  const found = parents.find(({ name }) => name === owner);
  if (owner !== undefined && (found?.resource.name !== 'user' || found.isOptional))
    throw new UsageError(`--owner must be a user in --belongs-to who is always there, and '${owner}' is not`);
  return found;
}

const splitList = (list = '') => list.split(',').filter(Boolean);
export const columnNamed = (name: string) => toWords(name).replaceAll(' ', '_');

/** Reads a parent such as `user`, `author=user` or `parent=note?`. */
function readParent(text: string, self: Named): Omit<Parent, 'children'> {
  const isOptional = text.endsWith('?');
  const [name = '', kind = name] = text.replace(/\?$/, '').split('=');
  requireName(name);
  const known = [...domain.records, self];
  const resource = known.find(each => each.name === kind);
  if (!resource)
    throw new UsageError(
      `There is no ${kind}: a parent is one of ${known.map(each => each.name).join(', ')}`,
    );
  if (resource === self && !isOptional)
    throw new UsageError(`The first ${self.noun} could have no ${name}: write ${text}?`);
  const member = `${name}Id`;
  return { name, member, column: columnNamed(member), resource, isOptional };
}

/** Adds what the parent calls the children. Two relations to one parent need two names. */
function withChildrenName(
  parent: Omit<Parent, 'children'>,
  all: Omit<Parent, 'children'>[],
  { plural }: Named,
): Parent {
  const isOnly = all.filter(({ resource }) => resource === parent.resource).length === 1;
  return { ...parent, children: isOnly ? plural : `${plural}As${capitalize(parent.name)}` };
}

/** Reads a field such as `text`, `amount:integer`, `number:string:unique` or `dueAt:time?`. */
function readField(text: string): Field {
  const [name = '', kind = 'string', ...rest] = text.split(':');
  requireName(name);
  const isUnique = rest.join(':') === 'unique';
  if (rest.length > 0 && !isUnique)
    throw new UsageError(`'${text}' is not understood: behind the type there may be :unique`);
  const type = typeNamed(kind.replace(/\?$/, ''));
  if (isUnique && !type.canBeUnique) throw new UsageError(`${name} cannot be unique: it is ${kind}`);
  return {
    name,
    words: toWords(name).replace(/ (at|on)$/, kind.startsWith('date') ? ' date' : ' time'),
    column: columnNamed(name),
    type,
    isOptional: kind.endsWith('?'),
    isUnique,
  };
}

function requireName(name: string): void {
  if (!/^[a-z][A-Za-z0-9]*$/.test(name))
    throw new UsageError(`'${name}' is not a name: use letters and digits, the first letter in lower case`);
}

function pluralize(noun: string): string {
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`;
  return /(s|x|z|ch|sh)$/.test(noun) ? `${noun}es` : `${noun}s`;
}
