import t, { type Test } from 'tap';
import { foreignKey, integer, pgTable, text, uuid } from '../../drizzle/orm.ts';
import { Id } from '../../schemas/common.ts';
import { contractOf } from '../../schemas/contract.ts';
import type { Context } from '../../src/core/context.ts';
import { newId } from '../../src/core/ids.ts';
import { removalOf } from '../../src/services/deletions.ts';
import { explain } from '../../src/services/refusals.ts';
import { belongsTo } from '../../src/services/relations.ts';
import { resourceOf } from '../../src/services/resource.ts';
import { inside } from '../helper/access.ts';
import { build } from '../helper/app.ts';

const folders = pgTable(
  'folders',
  {
    id: uuid().primaryKey(),
    parentId: uuid('parent_id').notNull(),
    version: integer().notNull().default(1),
    createdAt: text('created_at').notNull().default(''),
    updatedAt: text('updated_at').notNull().default(''),
  },
  table => [
    foreignKey({ name: 'folders_parent_id_fkey', columns: [table.parentId], foreignColumns: [table.id] }),
  ],
);
const contract = contractOf('Folder', 'A folder.', { members: { parentId: Id }, sorts: [], filters: {} });
const folder = resourceOf('folder', 'folders', contract, folders);
belongsTo(folder, folders.parentId, folder);
const removeFolder = removalOf(folder);
const refusedRemoval = (context: Context, id: string, cascade: boolean) =>
  removeFolder(context, id, { cascade }).then(() => undefined, explain);

/** Folders by the position of their parents. */
async function makeFolders(t: Test, parents: number[]) {
  const { database, call } = await build(t);
  const { rows } = database.writes;
  await rows(
    `create table folders (id uuid primary key, parent_id uuid not null references folders,
      version integer not null default 1, created_at text not null default '', updated_at text not null default '')`,
    [],
  );
  const ids = parents.map(() => newId(Date.now()));
  const values = parents.map((parent, i) => `('${ids[i]}', '${ids[parent]}')`);
  await rows(`insert into folders (id, parent_id) values ${values}`, []);
  const left = async () => Number((await rows('select count(*) from folders', []))[0]?.[0]);
  return { ids: ids as [string, ...string[]], context: inside(database), left, call };
}

t.test('records that belong to each other are deleted, each with its audit entry', async t => {
  const { ids, context, left, call } = await makeFolders(t, [0, 0, 1, 1]);
  t.match(await refusedRemoval(context, ids[0], false), { details: { code: 'folder_has_folders' } });
  t.equal(await left(), 4);
  await removeFolder(context, ids[0], { cascade: true });
  t.equal(await left(), 0);
  const { data } = (await call('GET', '/api/audit', 200)).body;
  t.same(new Set(data.map(({ recordId }: { recordId: string }) => recordId)), new Set(ids));
});

t.test('a circle of records is a conflict, and no endless deletion', async t => {
  const { ids, context, left } = await makeFolders(t, [1, 0]);
  t.match(await refusedRemoval(context, ids[0], true), { details: { code: 'folder_has_folders' } });
  t.equal(await left(), 2);
});
