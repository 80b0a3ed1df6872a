/**
 * Lower-case letters and digits: the name is in the keys of callers, in the log and in traces, and in the names that
 * the service gives to things in PostgreSQL and Redis.
 */
export const serviceName = 'triport';
/** The name in the headings of pages and documents. */
export const serviceTitle = 'Triport';

if (!/^[a-z][a-z0-9]*$/.test(serviceName))
  throw new Error(`The name '${serviceName}' must have only lower-case letters and digits.`);
