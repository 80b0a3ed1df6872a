import t from 'tap';
import { posts as table } from '../../drizzle/tables/posts.ts';
import { post as contract } from '../../schemas/post.ts';
import { expectVersion } from '../../src/core/conditions.ts';
import { post, posts } from '../../src/domain/posts.ts';
import { removalOf } from '../../src/records/deletions.ts';
import { changesOf } from '../../src/records/records.ts';
import { resourceOf } from '../../src/records/resource.ts';
import { inside } from '../helper/access.ts';
import { build } from '../helper/app.ts';

const { database, newUser, newPost } = await build(t);
const { id: authorId } = await newUser();
const context = inside(database);

/** What a rule was asked, and the functions that ask it. */
function refusing() {
  const asked: unknown[][] = [];
  const check = (...args: unknown[]) => {
    asked.push(args);
    throw new Error('not this one');
  };
  return { asked, ...changesOf(post, { check }), remove: removalOf(post, { check }) };
}

t.test('the rule of a change sees the stored record and what changes, in the transaction', async t => {
  const stored = await newPost({ authorId, title: 'Notes' });
  const { asked, change } = refusing();
  await t.rejects(change(context, stored.id, { title: 'Other', status: 'draft' }), /not this one/);
  t.match(asked, [[stored, { title: 'Other' }, { db: { isTransaction: true } }]]);
  t.same(Object.keys(asked[0]?.[1] as object), ['title']);
  t.match(await post.get(context, stored.id), { title: 'Notes', version: 1 });
});

t.test('the rule is not asked when nothing changes, or when the version is another', async t => {
  const { id } = await newPost({ authorId, title: 'Notes' });
  const { asked, change, remove } = refusing();
  t.match(await change(context, id, { title: 'Notes' }), { version: 1 });
  await t.rejects(change(context, id, { title: 'Other' }, expectVersion(2)), { code: 'version_mismatch' });
  await t.rejects(remove(context, id, { cascade: false }, expectVersion(2)), { code: 'version_mismatch' });
  t.same(asked, []);
});

t.test('the rule of a deletion keeps the record', async t => {
  const { id } = await newPost({ authorId, title: 'Notes' });
  await posts.change(context, id, { title: 'Other' });
  const { asked, remove } = refusing();
  await t.rejects(remove(context, id, { cascade: true }), /not this one/);
  t.match(asked, [[{ id, version: 2 }, { db: { isTransaction: true } }]]);
  t.match(await post.get(context, id), { title: 'Other' });
});

t.test(
  'a rule without its unique index is found at the start: bug: the first duplicate was a 500',
  async t => {
    const start = () => resourceOf('posts', contract, table, { unique: [['authorId', 'title']] });
    t.throws(start, { message: "The table posts needs uniqueIndex('posts_author_id_title_key')." });
  },
);
