import type { Static } from '@sinclair/typebox';
import { Id, oneOf, strict, text } from './common.ts';
import { listOf, listParameters, only } from './lists.ts';
import { creationOf, orDefault, recordOf, replacementOf, updateOf } from './records.ts';

export const postStatuses = ['draft', 'published'] as const;
export type PostStatus = (typeof postStatuses)[number];

const members = {
  title: text(1, 500, 'The title, 1 to 500 characters.', 'Notes on the engine'),
  status: oneOf(postStatuses, 'Whether the post is published.', 'published'),
  authorId: { ...Id, description: 'The id of the user who wrote the post.' },
};
const { title, status } = members;
const input = {
  ...members,
  status: orDefault(status, 'draft', 'Whether the post is published; `draft` when absent.'),
};

export const Post = recordOf('Post', 'A text by one user.', members);
export type Post = Static<typeof Post>;

export const PostCreate = creationOf('Post', input);
export type PostCreate = Static<typeof PostCreate>;

export const PostReplace = replacementOf('Post', input);
export type PostReplace = Static<typeof PostReplace>;

export const PostUpdate = updateOf('Post', members);
export type PostUpdate = Static<typeof PostUpdate>;

export const postSorts = ['createdAt', 'title'] as const;
export const PostQuery = strict({
  ...listParameters(postSorts),
  status: only(status, 'Only posts with this status.'),
  author: only(Id, 'Only posts by the user with this id.'),
  title: only(title, 'Only posts with exactly this title.'),
});
export type PostQuery = Static<typeof PostQuery>;

export const PostList = listOf(Post, 'PostList');
