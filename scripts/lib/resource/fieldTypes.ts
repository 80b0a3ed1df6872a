import { UsageError } from '#src/command.ts';
import { capitalize, withArticle } from '#src/core/text.ts';

/** What a word of `--fields` means in the files of a resource. */
export interface FieldType {
  /** The function of schemas/parts/common.ts that makes the member, and its arguments, given the name in plain English. */
  member: string;
  args: (words: string) => string;
  /** The function that makes the column. */
  column: string;
  /** The second argument of that function. */
  options?: string;
  /** The expression that its indexes have instead of the column. */
  indexed?: (column: string) => string;
  /** A rule that the database checks for every client, and the end of its name. */
  check?: { name: string; rule: (column: string) => string };
  /** The words of an enum, of which the first is the default. */
  words?: string[];
  isSorted?: true;
  /** The function of schemas/parts/filters.ts that makes its filter; `is` for equality alone. */
  filter?: 'is' | 'anyOf' | 'range' | 'prefix';
  canBeUnique?: true;
  canBeSearched?: true;
}

const textType = (most: number): FieldType => ({
  member: 'text',
  args: words =>
    `1, ${most}, 'The ${words}, 1 to ${most.toLocaleString('en')} characters.', '${capitalize(withArticle(words))}'`,
  column: 'textByCode',
  check: { name: 'length', rule: column => `char_length(${column}) between 1 and ${most}` },
  canBeSearched: true,
});
const theWords = (words: string) => `'The ${words}.'`;
const listed = { isSorted: true, filter: 'range', canBeUnique: true } as const;

const types: Record<string, FieldType> = {
  string: { ...textType(500), ...listed, filter: 'prefix' },
  // A long text does not fit into an index.
  text: textType(20_000),
  integer: { member: 'wholeNumber', args: theWords, column: 'integer', ...listed },
  cents: {
    member: 'cents',
    args: words => `'The ${words} in cents.'`,
    column: 'bigint',
    options: "{ mode: 'number' }",
    ...listed,
  },
  email: {
    member: 'email',
    args: theWords,
    column: 'textByCode',
    check: { name: 'length', rule: column => `char_length(${column}) between 3 and 254` },
    indexed: column => `sql\`lower(\${${column}})\``,
    ...listed,
    filter: 'is',
  },
  number: { member: 'number', args: theWords, column: 'doublePrecision', ...listed },
  boolean: {
    member: 'boolean',
    args: words => `'Whether it is ${words}.'`,
    column: 'boolean',
    filter: 'is',
  },
  time: { member: 'time', args: theWords, column: 'instant', ...listed },
  date: { member: 'date', args: theWords, column: 'date', ...listed },
  json: { member: 'json', args: theWords, column: 'json' },
};

const quoted = (words: string[]) => words.map(word => `'${word}'`).join(', ');

function enumType(words: string[]): FieldType {
  const wrong = words.find(word => !/^[a-z]\w*$/i.test(word) || ['true', 'false', 'null'].includes(word));
  if (wrong !== undefined)
    throw new UsageError(`'${wrong}' is no word of an enum: use letters, digits and _`);
  if (new Set(words).size < words.length)
    throw new UsageError(`A word is there twice in '${words.join('|')}'`);
  return {
    member: 'oneOf',
    args: name => `[${quoted(words)}], 'The ${name}.'`,
    column: 'textByCode',
    check: { name: 'known', rule: column => `${column} in (${quoted(words)})` },
    words,
    isSorted: true,
    filter: 'anyOf',
  };
}

/** The type that a text such as `string` or `draft|sent` names. */
export function typeNamed(text: string): FieldType {
  if (text.includes('|')) return enumType(text.split('|'));
  if (Object.hasOwn(types, text)) return types[text] as FieldType;
  throw new UsageError(
    `'${text}' is not a field type: use one of ${Object.keys(types).join(', ')}, or words such as draft|sent`,
  );
}
