/** An array as PostgreSQL reads it. */
export const arrayText = (values: unknown[]) => `{${values.map(elementText).join()}}`;

function elementText(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  if (Buffer.isBuffer(value)) return `"\\\\x${value.toString('hex')}"`;
  return `"${String(value).replace(/["\\]/g, '\\$&')}"`;
}
