/** The files that each application has under these names. */
const fixed = ['schemas/name.ts', 'schemas/settings.ts'];

/** Whether a file differs from one application to the next. */
export const isYours = (file: string) =>
  /^(src\/domain\/|(schemas|drizzle\/tables)\/\w+\.ts$)/.test(file) && !fixed.includes(file);

/** The migrations of the service. */
export const migrations = ['0000_lists', '0002_webhooks', '0003_access'].map(
  tag => `drizzle/migrations/${tag}.sql`,
);
