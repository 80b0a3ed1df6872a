import type { Context } from '../../src/core/context.ts';
import { postsOfIds } from '../../src/services/posts.ts';
import {
  countPostsOfAuthors,
  type PartOfPost,
  type PostMember,
  postsOfAuthors,
} from '../../src/services/relations.ts';
import { usersOfIds } from '../../src/services/users.ts';
import type { RecordBudget } from './limits/recordBudget.ts';

interface PostPage {
  limit: number;
  skip: number;
  members: PostMember[];
}
type Loader<V> = (key: string) => Promise<V | undefined>;
export type Loaders = ReturnType<typeof makeLoaders>;

/** The loaders of one request, in the context of its caller. Never shared between requests. */
export function makeLoaders(context: Context, budget: RecordBudget) {
  const pages = new Map<string, Loader<PartOfPost[]>>();

  const pageLoader = (page: PostPage) =>
    batched(authors =>
      budget.inSequence(async remaining => {
        const byAuthor = await postsOfAuthors(context, authors, { ...page, most: remaining + 1 });
        for (const posts of byAuthor.values()) budget.spend(posts);
        return byAuthor;
      }),
    );

  return {
    user: batched(ids => usersOfIds(context, ids)),
    post: batched(ids => postsOfIds(context, ids)),
    postsCount: batched(authors => countPostsOfAuthors(context, authors)),
    /** Batched by identical arguments: the page of one field must not leak into another. */
    posts: async (author: string, page: PostPage): Promise<PartOfPost[]> => {
      const name = `${page.skip} ${page.limit} ${page.members}`;
      const loader = pages.get(name) ?? pageLoader(page);
      pages.set(name, loader);
      return (await loader(author)) ?? [];
    },
  };
}

/** Joins the lookups of one turn into one. Nothing is kept longer, because a mutation may change it in the next turn. */
function batched<V>(load: (keys: string[]) => Promise<Map<string, V>>): Loader<V> {
  let keys = new Set<string>();
  let result: Promise<Map<string, V>>;
  return async key => {
    if (keys.size === 0)
      result = endOfTurn().then(() => {
        const batch = [...keys];
        keys = new Set();
        return load(batch);
      });
    keys.add(key);
    return (await result).get(key);
  };
}

/** Resolves after the promises of this turn and those that they settle. */
const endOfTurn = () =>
  new Promise<void>(resolve => void Promise.resolve().then(() => process.nextTick(resolve)));
