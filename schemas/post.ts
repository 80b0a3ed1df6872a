import { type Static, Type } from '@sinclair/typebox';
import { Id, oneOf, readOnly, strict, text } from './common.ts';
import { listOf, paging, sortBy } from './lists.ts';

const title = text(1, 500, 'The title, 1 to 500 characters.', 'Notes on the engine');
export const postStatuses = ['draft', 'published'] as const;
export type PostStatus = (typeof postStatuses)[number];
const status = oneOf(postStatuses, 'Whether the post is published.', 'published');
const optionalStatus = Type.Optional(
  Type.Unsafe<PostStatus>({
    ...status,
    default: 'draft',
    description: 'Whether the post is published; `draft` when absent.',
  }),
);
const authorId = { ...Id, description: 'The id of the user who wrote the post.' };

export const Post = strict(
  { id: readOnly.id, title, status, authorId, createdAt: readOnly.createdAt, updatedAt: readOnly.updatedAt },
  { $id: 'Post', description: 'A text by one user.' },
);
export type Post = Static<typeof Post>;

export const PostCreate = strict(
  { title, status: optionalStatus, authorId },
  { $id: 'PostCreate', description: 'A new post.' },
);
export type PostCreate = Static<typeof PostCreate>;

export const PostReplace = strict(
  { title, status: optionalStatus, authorId, ...Type.Partial(Type.Object(readOnly)).properties },
  { $id: 'PostReplace', description: 'A complete post. The response of a GET is accepted.' },
);
export type PostReplace = Static<typeof PostReplace>;

export const PostUpdate = Type.Partial(strict({ title, status, authorId, ...readOnly }), {
  $id: 'PostUpdate',
  description: 'A merge patch (RFC 7396): members that are absent stay as they are.',
});
export type PostUpdate = Static<typeof PostUpdate>;

export const postSorts = ['createdAt', 'title'] as const;
export const PostQuery = strict({
  ...paging,
  sort: sortBy(postSorts),
  status: Type.Optional({ ...status, description: 'Only posts with this status.' }),
  author: Type.Optional({ ...Id, description: 'Only posts by the user with this id.' }),
  title: Type.Optional({ ...title, description: 'Only posts with exactly this title.' }),
});
export type PostQuery = Static<typeof PostQuery>;

export const PostList = listOf(Post, 'PostList');
