/**
 * The first characters of a text, as JSON Schema and PostgreSQL count them. `length` and `slice` count UTF-16 units,
 * of which an emoji has two: a customer of 130 emoji was taken for one of 260 characters, and a cut left half an emoji.
 */
export function firstCharacters(text: string, most: number): string {
  const units = text.slice(0, 2 * most);
  return [...units].slice(0, most).join('');
}
