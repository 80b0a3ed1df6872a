/** An array as PostgreSQL reads it. */
export const arrayText = (values: string[]) =>
  `{${values.map(value => `"${value.replace(/["\\]/g, '\\$&')}"`).join()}}`;
