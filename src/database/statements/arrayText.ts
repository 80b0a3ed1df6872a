export const hexBytes = (bytes: Buffer) => `\\x${bytes.toString('hex')}`;

/** An array as PostgreSQL reads it. */
export const arrayText = (values: string[]) =>
  `{${values.map(value => `"${value.replace(/["\\]/g, '\\$&')}"`).join()}}`;
