import { Column, is, SQL } from 'drizzle-orm';

interface Field {
  path: string[];
  field: unknown;
}
interface Decoder {
  mapFromDriverValue: (value: unknown) => unknown;
}

/** What a prepared statement of Drizzle has inside, with either driver. */
interface Internals {
  fields?: Field[];
  joinsNotNullableMap?: Record<string, boolean>;
  customResultMapper?: (rows: unknown[][]) => unknown[];
}

/**
 * Gives a prepared statement its way to turn rows into objects, decided once. Drizzle asks for each value anew what
 * kind of column it is from, which for a page of 20 posts takes 0.05 ms, as long as Postgres takes to find them.
 */
export function mapRows<S>(statement: S): S {
  const internals = statement as Internals;
  const { fields, customResultMapper } = internals;
  if (!fields || customResultMapper || fields.some(({ path }) => path.length > 2)) return statement;
  const columns = fields.map(({ path, field }) => {
    const decoder = (is(field, SQL) ? (field as unknown as { decoder: Decoder }).decoder : field) as Decoder;
    const plain = decoder.mapFromDriverValue === Column.prototype.mapFromDriverValue;
    return { group: path.length === 2 ? path[0] : undefined, name: path.at(-1) as string, decoder, plain };
  });
  const plainObjects = columns.every(({ group }) => group === undefined);

  function objectOf(row: unknown[]) {
    const result: Record<string, unknown> = {};
    for (let i = 0; i < columns.length; i++) {
      const { group, name, decoder, plain } = columns[i] as (typeof columns)[number];
      const raw = row[i];
      const value = raw === null || plain ? raw : decoder.mapFromDriverValue(raw);
      if (plainObjects || group === undefined) result[name] = value;
      // A left join that found nothing: the first column of a record is never null.
      else if (!(group in result)) result[group] = value === null ? null : { [name]: value };
      else if (result[group]) (result[group] as Record<string, unknown>)[name] = value;
    }
    return result;
  }
  internals.customResultMapper = rows => rows.map(objectOf);
  return statement;
}
