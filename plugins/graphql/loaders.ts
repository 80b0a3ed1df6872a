import type { Context } from '../../src/core/context.ts';
import { postsOfIds } from '../../src/services/posts.ts';
import {
  countPostsOfAuthors,
  type PartOfPost,
  type PostMember,
  postsOfAuthors,
} from '../../src/services/relations.ts';
import { usersOfIds } from '../../src/services/users.ts';
import type { Allowance } from './recordBudget.ts';

interface PostSlice {
  limit: number;
  skip: number;
  members: PostMember[];
}
type Loader<V> = (key: string) => Promise<V | undefined>;
export type Loaders = ReturnType<typeof makeLoaders>;

/** The look-ups of one request, in the context of its caller. Never shared between requests. */
export function makeLoaders(context: Context, allowance: Allowance) {
  const slices = new Map<string, Loader<PartOfPost[]>>();

  const makeSlice = (slice: PostSlice) =>
    batched(authors =>
      allowance.inTurn(async rest => {
        const byAuthor = await postsOfAuthors(context, authors, { ...slice, most: rest + 1 });
        for (const posts of byAuthor.values()) allowance.take(posts);
        return byAuthor;
      }),
    );

  return {
    user: batched(ids => usersOfIds(context, ids)),
    post: batched(ids => postsOfIds(context, ids)),
    postsCount: batched(authors => countPostsOfAuthors(context, authors)),
    /** Batched by identical arguments: the page of one field never leaks into another. */
    posts: async (author: string, slice: PostSlice): Promise<PartOfPost[]> => {
      const name = `${slice.skip} ${slice.limit} ${slice.members}`;
      const loader = slices.get(name) ?? makeSlice(slice);
      slices.set(name, loader);
      return (await loader(author)) ?? [];
    },
  };
}

/**
 * Joins the look-ups of one turn into one. Nothing is kept after that: a mutation may change in the next
 * turn what was read in this one.
 */
function batched<V>(load: (keys: string[]) => Promise<Map<string, V>>): Loader<V> {
  let keys = new Set<string>();
  let answer: Promise<Map<string, V>>;
  return async key => {
    if (keys.size === 0)
      answer = endOfTurn().then(() => {
        const wanted = [...keys];
        keys = new Set();
        return load(wanted);
      });
    keys.add(key);
    return (await answer).get(key);
  };
}

/** Comes when all that can go on has gone on: after the promises of this turn and those they settle. */
const endOfTurn = () =>
  new Promise<void>(resolve => void Promise.resolve().then(() => process.nextTick(resolve)));
