// runs: in its own process, also on embedded
import t, { type Test } from 'tap';
import { foreignKey, integer, pgTable, text, uuid } from '#drizzle/orm.ts';
import { Id } from '#schemas/parts/common.ts';
import { contractOf } from '#schemas/parts/contract.ts';
import type { Context } from '#src/access/context.ts';
import { newId } from '#src/core/ids.ts';
import { explain } from '#src/database/databaseErrors.ts';
import { removalOf } from '#src/records/deletions.ts';
import { relate, resourceOf } from '#src/records/resource.ts';
import { inside } from '#test/helper/access.ts';
import { openTestDatabase } from '#test/helper/database.ts';

const columns = () => ({
  id: uuid().primaryKey(),
  version: integer().notNull().default(1),
  createdAt: text('created_at').notNull().default('2026-11-21T09:30:00.000Z'),
  updatedAt: text('updated_at').notNull().default('2026-11-21T09:30:00.000Z'),
});
const owners = pgTable('owners', columns());
const folders = pgTable(
  'folders',
  { ...columns(), ownerId: uuid('owner_id').notNull(), parentId: uuid('parent_id').notNull() },
  table => [
    foreignKey({ name: 'folders_owner_id_fkey', columns: [table.ownerId], foreignColumns: [owners.id] }),
    foreignKey({ name: 'folders_parent_id_fkey', columns: [table.parentId], foreignColumns: [table.id] }),
  ],
);
const lists = { sorts: [], filters: {} };
const ownerContract = contractOf('Owner', 'An owner.', { members: {}, ...lists });
const owner = resourceOf('owners', ownerContract, owners);
const members = { ownerId: Id, parentId: Id };
const folderContract = contractOf('Folder', 'A folder.', { members, ...lists });
const folder = resourceOf('folders', folderContract, folders, {
  belongsTo: { ownerId: { parent: owner }, parentId: { parent: 'itself' } },
});
relate([folder]);
const removeFolder = removalOf(folder);
const refusedRemoval = (context: Context, id: string, cascade: boolean) =>
  removeFolder(context, id, { cascade }).then(() => undefined, explain);

/** Makes folders from the positions of their parents, for two owners in turn. */
async function makeFolders(t: Test, parents: number[]) {
  const database = await openTestDatabase(t);
  const { rows } = database.writes;
  const time = "text not null default '2026-11-21T09:30:00.000Z'";
  const shared = `id uuid primary key, version integer not null default 1, created_at ${time}, updated_at ${time}`;
  await rows(`create table owners (${shared})`, []);
  const parent = (name: string) =>
    `${name}_id uuid not null constraint folders_${name}_id_fkey references ${name === 'owner' ? 'owners' : 'folders'}`;
  await rows(`create table folders (${shared}, ${parent('owner')}, ${parent('parent')})`, []);
  const [ann = '', bob = ''] = [newId(Date.now()), newId(Date.now())];
  await rows(`insert into owners (id) values ('${ann}'), ('${bob}')`, []);
  const ids = parents.map(() => newId(Date.now()));
  const values = parents.map((parent, i) => `('${ids[i]}', '${i % 2 ? bob : ann}', '${ids[parent]}')`);
  await rows(`insert into folders (id, owner_id, parent_id) values ${values}`, []);
  const left = async () => Number((await rows('select count(*) from folders', []))[0]?.[0]);
  return { ids: ids as [string, ...string[]], ann, context: inside(database), left };
}

for (const [what, parents] of Object.entries({
  'records that belong to each other are deleted, each with its audit entry': [0, 0, 1, 1],
  'a circle of records is deleted, and no endless deletion': [1, 0],
  'a chain of 500 folders is deleted': [0, ...Array(499).keys()],
}))
  t.test(what, async t => {
    const { ids, context, left } = await makeFolders(t, parents);
    t.match(await refusedRemoval(context, ids[0], false), { details: { code: 'folder_has_folders' } });
    t.equal(await left(), ids.length);
    await removeFolder(context, ids[0], { cascade: true });
    t.equal(await left(), 0);
    const logged = await context.db.rows('select record_id from audit_log', []);
    t.same(new Set(logged.flat()), new Set(ids));
  });

t.test('folders of one owner are deleted with those of another between them', async t => {
  const { ann, context, left } = await makeFolders(t, [0, 0, 1, 2]);
  await removalOf(owner)(context, ann, { cascade: true });
  t.equal(await left(), 0);
});
