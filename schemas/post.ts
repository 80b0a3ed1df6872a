import type { Static } from '@sinclair/typebox';
import { Id, oneOf, text } from './parts/common.ts';
import { contractOf, orDefault } from './parts/contract.ts';
import { anyOf, prefix } from './parts/filters.ts';

export const post = contractOf('Post', 'A text by one user.', {
  members: {
    title: text(1, 500, 'The title, 1 to 500 characters.', 'Notes on the engine'),
    status: orDefault(oneOf(['draft', 'published'], 'Whether the post is published.', 'published'), 'draft'),
    authorId: { ...Id, description: 'The id of the user who wrote the post.' },
  },
  sorts: ['title'],
  filters: {
    status: anyOf('Only posts with this status.'),
    author: anyOf('Only posts by the user with this id.'),
    title: prefix('Only posts with exactly this title.'),
  },
  search: ['title'],
});
export type Post = Static<typeof post.record>;
