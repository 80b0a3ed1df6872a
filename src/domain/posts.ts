import { posts as table } from '#drizzle/tables/posts.ts';
import { post as contract } from '#schemas/post.ts';
import { removalOf } from '#src/records/deletions.ts';
import { creationOf, updatesOf } from '#src/records/records.ts';
import { type Operations, resourceOf } from '#src/records/resource.ts';
import { user } from './users.ts';

export const post = resourceOf('posts', contract, table, {
  counted: ['status'],
  belongsTo: { authorId: { parent: user } },
  owner: 'authorId',
});

export const posts = {
  resource: post,
  create: creationOf(post),
  ...updatesOf(post),
  remove: removalOf(post),
} satisfies Operations;
