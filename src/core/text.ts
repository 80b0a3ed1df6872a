/** The first characters of a text. Counted by code point, as JSON Schema and PostgreSQL do: a cut must not halve an emoji. */
export function truncate(text: string, length: number): string {
  return [...text.slice(0, 2 * length)].slice(0, length).join('');
}

/** The same for a text column, which takes neither NUL nor half of a surrogate pair. */
export const truncateForColumn = (text: string, length: number) =>
  truncate(text, length).toWellFormed().replaceAll('\0', '\ufffd');
