import t from 'tap';
import { type ColumnsOf, json, recordColumns, textByCode } from '#drizzle/columns.ts';
import { boolean } from '#drizzle/orm.ts';
import { json as anyJson, text } from '#schemas/parts/common.ts';
import { contractOf, orNull } from '#schemas/parts/contract.ts';

// `npm run check` fails when the compiler accepts one of these mistakes, or reports it at another line.
const label = text(1, 9, 'The label.', 'A label');
const contract = contractOf('Thing', 'A thing.', {
  members: { label, remark: orNull(label), extra: orNull(anyJson('Anything.')) },
  sorts: [],
  filters: { label: 'Only things with this label.' },
});
type Thing = typeof contract.record.static;

t.test(
  'a column that is wrong or too many is an error at its name, one that is forgotten has it',
  async t => {
    const right = {
      ...recordColumns(),
      label: textByCode().notNull(),
      remark: textByCode(),
      extra: json(),
    } satisfies ColumnsOf<Thing>;
    const wrong = {
      ...right,
      // @ts-expect-error: label must not be null
      label: textByCode(),
      // @ts-expect-error: remark must be text
      remark: boolean(),
    } satisfies ColumnsOf<Thing>;
    // @ts-expect-error: the record has no colour
    const more = { ...right, colour: textByCode() } satisfies ColumnsOf<Thing>;
    const { remark: _, ...less } = right;
    // @ts-expect-error: remark is forgotten
    less satisfies ColumnsOf<Thing>;
    t.same(Object.keys(more), [...Object.keys(wrong), 'colour']);
    t.notOk('remark' in less);
  },
);

t.test('a filter is named like its member, which may end in Id', async t => {
  const make = (filters: object) =>
    contractOf('Thing', 'A thing.', { members: { label }, sorts: [], filters });
  t.throws(() => make({ colour: 'Only red ones.' }), { message: /has no member for the filter "colour"/ });
  contractOf('Thing', 'A thing.', {
    members: { label, ownerId: label },
    sorts: [],
    filters: { label: 'Only those.', owner: 'Only theirs.', ownerId: 'The same.' },
  });
  t.throws(() =>
    contractOf('Thing', 'A thing.', {
      members: { label },
      sorts: [],
      // @ts-expect-error: there is no such member
      filters: { colour: 'Only red ones.' },
    }),
  );
});
