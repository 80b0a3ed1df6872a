interface Schema {
  enum?: string[];
  type?: string;
  format?: string;
  pattern?: string;
  maximum?: number;
  maxLength?: number;
  examples?: string[];
}
interface Parameter {
  name: string;
  in: string;
  schema: Schema;
}
type Document = { paths?: Record<string, Record<string, { parameters?: Parameter[] }>> };

/** For each list of an OpenAPI document, its longest valid URL. */
export function longestLists(document: object): string[] {
  return Object.entries((document as Document).paths ?? {}).flatMap(([path, { get }]) => {
    const parameters = get?.parameters?.filter(parameter => parameter.in === 'query') ?? [];
    if (path.includes('{') || !parameters.some(({ name }) => name === 'limit')) return [];
    // Only the service can make a cursor that fits a query.
    const filters = parameters.filter(({ name }) => !['after', 'before'].includes(name));
    const query = filters.map(({ name, schema }): [string, string] => [name, longest(name, schema)]);
    return [`${path}?${new URLSearchParams(query)}`];
  });
}

function longest(name: string, schema: Schema): string {
  const { type, enum: choices, maximum, maxLength, format, pattern = '', examples = [] } = schema;
  if (choices) return choices.toSorted((a, b) => b.length - a.length)[0] ?? '';
  if (type === 'boolean') return 'false';
  if (maximum !== undefined) return String(maximum);
  if (type === 'number') return String(-Number.MAX_VALUE);
  if (format === 'date') return '2026-11-21';
  if (pattern.includes('[0-9a-f]')) return examples[0] ?? '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90';
  if (maxLength === undefined) throw new Error(`${name} may have any length`);
  if (format === 'email')
    return `${'+'.repeat(64)}@${`${'a'.repeat(62)}.`.repeat(3)}`.slice(0, maxLength - 1);
  if (format === 'date-time') return '2026-11-21T09:30:00.'.padEnd(maxLength - 1, '0').concat('Z');
  // Twelve characters of the URL each.
  return '\u{1F600}'.repeat(maxLength);
}
