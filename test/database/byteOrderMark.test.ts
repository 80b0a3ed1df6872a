import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { sql } from '../../drizzle/orm.ts';
import { type Connection, orm } from '../../src/database/connection.ts';
import { openTestDatabase } from '../helper/database.ts';
import { seed } from '../helper/values/random.ts';

/** U+FEFF, which a TextDecoder takes for a byte order mark and drops unless it is made with `ignoreBOM`. */
const mark = '\ufeff';

t.test('every text that is read keeps its leading U+FEFF', async t => {
  const { writes } = await openTestDatabase(t);
  const text = fc.string({ unit: 'binary' }).map(rest => mark + rest.replaceAll('\0', ''));
  const texts = fc.array(fc.oneof(text, fc.constantFrom(null, '', mark, 'plain')), { minLength: 1 });
  const read = (db: Connection, given: (string | null)[]) =>
    orm(db)
      .select({ value: sql`value`, list: sql`list`, json: sql`to_jsonb(list)` })
      .from(sql`(
      select value, coalesce(array_agg(value) filter (where value is not null) over (), '{}') as list
      from json_array_elements_text(${JSON.stringify(given)}::json) as value
    ) as given`);
  await fc.assert(
    fc.asyncProperty(texts, fc.boolean(), async (given, isInside) => {
      const rows = await (isInside ? writes.transaction(tx => read(tx, given)) : read(writes, given));
      const list = given.filter(value => value !== null);
      assert.deepEqual(
        rows,
        given.map(value => ({ value, list, json: list })),
      );
    }),
    { seed, numRuns: 200 },
  );
});
