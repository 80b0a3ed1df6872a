import t from 'tap';
import { expectVersion } from '#src/core/conditions.ts';
import { removalOf } from '#src/records/deletions.ts';
import { updatesOf } from '#src/records/records.ts';
import { resourceOf } from '#src/records/resource.ts';
import { inside } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { burrow } from '#test/world/burrows.ts';

const { database, make } = await build(t);
const context = inside(database);

/** What a rule that refuses was asked, and the functions that ask it. */
function refusing() {
  const asked: unknown[][] = [];
  const check = (...args: unknown[]) => {
    asked.push(args);
    throw new Error('not this one');
  };
  return { asked, ...updatesOf(burrow, { check }), remove: removalOf(burrow, { check }) };
}

t.test('the rule of a change sees the stored record and what changes, in the transaction', async t => {
  const stored = await make(burrow, { label: 'Oak', parentId: null });
  const { asked, change } = refusing();
  await t.rejects(change(context, stored.id, { label: 'Other', parentId: null }), /not this one/);
  t.match(asked, [[stored, { label: 'Other' }, { db: { isTransaction: true } }]]);
  t.same(Object.keys(asked[0]?.[1] as object), ['label']);
  t.match(await burrow.get(context, stored.id), { label: 'Oak', version: 1 });
});

t.test('the rule is not asked when nothing changes, or when the version is another', async t => {
  const { id } = await make(burrow, { label: 'Oak', parentId: null });
  const { asked, change, remove } = refusing();
  t.match(await change(context, id, { label: 'Oak' }), { version: 1 });
  await t.rejects(change(context, id, { label: 'Other' }, expectVersion(2)), { code: 'version_mismatch' });
  await t.rejects(remove(context, id, { cascade: false }, expectVersion(2)), { code: 'version_mismatch' });
  t.same(asked, []);
});

t.test('the rule of a deletion keeps the record', async t => {
  const { id } = await make(burrow, { label: 'Oak', parentId: null });
  await updatesOf(burrow).change(context, id, { label: 'Other' });
  const { asked, remove } = refusing();
  await t.rejects(remove(context, id, { cascade: true }), /not this one/);
  t.match(asked, [[{ id, version: 2 }, { db: { isTransaction: true } }]]);
  t.match(await burrow.get(context, id), { label: 'Other' });
});

t.test(
  'a rule without its unique index is found at the start: bug: the first duplicate was a 500',
  async t => {
    const start = () =>
      resourceOf('burrows', burrow.contract, burrow.table, { unique: [['parentId', 'label']] });
    t.throws(start, { message: "The table burrows needs uniqueIndex('burrows_parent_id_label_key')." });
  },
);
