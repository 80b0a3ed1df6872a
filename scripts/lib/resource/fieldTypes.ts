import { UsageError } from '../../../src/command.ts';
import { capitalize, withArticle } from '../../../src/core/text.ts';

/** What a word of `--fields` means in the files of a resource. */
export interface FieldType {
  /** The member of the contract, given the name of the field in plain English. */
  member: (words: string) => string;
  /** The function that makes the column. */
  column: string;
  /** A rule for every client of the database, by its name. */
  check?: { name: string; rule: (column: string) => string };
  /** The words of an enum, of which the first is the default. */
  words?: string[];
  isSorted?: true;
  isFiltered?: true;
  canBeUnique?: true;
}

const textOf = (most: number): FieldType => ({
  member: words =>
    `text(1, ${most}, 'The ${words}, 1 to ${most.toLocaleString('en')} characters.', '${capitalize(withArticle(words))}')`,
  column: 'textByCode',
  check: { name: 'length', rule: column => `char_length(${column}) between 1 and ${most}` },
});
const listed = { isSorted: true, isFiltered: true, canBeUnique: true } as const;

const types: Record<string, FieldType> = {
  string: { ...textOf(500), ...listed },
  // Too long for an index.
  text: textOf(20_000),
  integer: { member: words => `wholeNumber('The ${words}.')`, column: 'integer', ...listed },
  number: { member: words => `number('The ${words}.')`, column: 'doublePrecision', ...listed },
  boolean: { member: words => `boolean('Whether it is ${words}.')`, column: 'boolean', isFiltered: true },
  time: { member: words => `time('The ${words}.')`, column: 'instant', ...listed },
  date: { member: words => `date('The ${words}.')`, column: 'date', ...listed },
  json: { member: words => `json('The ${words}.')`, column: 'json' },
};

const quoted = (words: string[]) => words.map(word => `'${word}'`).join(', ');

function enumOf(words: string[]): FieldType {
  const wrong = words.find(word => !/^[a-z]\w*$/i.test(word) || ['true', 'false', 'null'].includes(word));
  if (wrong !== undefined)
    throw new UsageError(`'${wrong}' is no word of an enum: use letters, digits and _`);
  if (new Set(words).size < words.length)
    throw new UsageError(`A word is there twice in '${words.join('|')}'`);
  return {
    member: name => `oneOf([${quoted(words)}], 'The ${name}.')`,
    column: 'textByCode',
    check: { name: 'known', rule: column => `${column} in (${quoted(words)})` },
    words,
    isSorted: true,
    isFiltered: true,
  };
}

/** The type that a text such as `string` or `draft|sent` names. */
export function typeNamed(text: string): FieldType {
  if (text.includes('|')) return enumOf(text.split('|'));
  if (Object.hasOwn(types, text)) return types[text] as FieldType;
  throw new UsageError(
    `'${text}' is not a field type: use one of ${Object.keys(types).join(', ')}, or words such as draft|sent`,
  );
}
