import leven from 'leven';

/**
 * The first characters of a text, counted by code point, as JSON Schema and PostgreSQL do: a cut must not halve an
 * emoji.
 */
export function truncate(text: string, length: number): string {
  return text.length <= length ? text : [...text.slice(0, 2 * length)].slice(0, length).join('');
}

/** Truncates for a text column, which takes neither NUL nor half of a surrogate pair. */
export const truncateForColumn = (text: string, length: number) =>
  truncate(text, length).toWellFormed().replaceAll('\0', '\ufffd');

/** Whether a text column of this length takes the text unchanged. */
export const fits = (text: string, length: number) => truncateForColumn(text, length) === text;

/** The known name that a misspelt one was probably meant to be, if any is close enough. */
export function suggestName(name: string, known: readonly string[]): string | undefined {
  // Cuts the name, because the work grows with its length.
  const typed = name.slice(0, 64).toLowerCase();
  const [best] = known
    .map(candidate => ({ candidate, edits: leven(typed, candidate.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits);
  if (best === undefined) return undefined;
  const { candidate, edits } = best;
  return edits < candidate.length && edits <= Math.max(2, candidate.length / 3) ? candidate : undefined;
}

/** Characters that a terminal obeys, or that reorder a line. */
const unprintable = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** Replaces the characters that deceive people at a terminal: strangers write names, types and errors. */
export const printable = (text: string) => text.replace(unprintable, '\ufffd');

export const printableLines = (text: string) => text.split('\n').map(printable).join('\n');

/** JSON with the unprintable characters escaped: `JSON.stringify` escapes only those below U+0020. */
export const printableJson = (json: string) =>
  json.replace(unprintable, sign =>
    sign === '\n' ? sign : `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

export const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** `a user`, `an invoice`. */
export const withArticle = (noun: string) => `${/^([aeio]|u(?!s|ni))/i.test(noun) ? 'an' : 'a'} ${noun}`;

/** The words of a name: `lineItem` becomes `line item`. */
export const toWords = (name: string) => name.replace(/(?!^)[A-Z]/g, letter => ` ${letter}`).toLowerCase();
