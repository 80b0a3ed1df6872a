import type { Context } from '../../src/core/context.ts';
import type { Slice } from '../../src/services/children.ts';
import type { CountEach } from '../../src/services/lists/eachCounter.ts';
import type { ReadEach } from '../../src/services/lists/pagedList.ts';
import type { CursorPage } from '../../src/services/lists/pages.ts';
import type { RecordBudget } from './limits/recordBudget.ts';

export type Load<V> = (context: Context, keys: string[]) => Promise<Map<string, V>>;
type LoadPages<V> = (context: Context, parents: string[], slice: Slice) => Promise<Map<string, V[]>>;
/** Loads the values of keys, and may need to know how often each was asked for. */
type Batch<V> = (keys: string[], timesOf: (key: string) => number) => Promise<Map<string, V>>;
type Loader<V> = (key: string) => Promise<V | undefined>;
export type Loaders = ReturnType<typeof makeLoaders>;

/** The loaders of one request, in the context of its caller. Never shared between requests. */
export function makeLoaders(context: Context, budget: RecordBudget) {
  const loaders = new Map<unknown, Map<string, Loader<unknown>>>();

  /** The loader of a function of a service, and of the arguments that its keys have in common. */
  function loaderOf<V>(service: unknown, args: string, load: Batch<V>) {
    const known = loaders.get(service) ?? new Map<string, Loader<unknown>>();
    loaders.set(service, known);
    const loader = (known.get(args) ?? batched(load)) as Loader<V>;
    known.set(args, loader);
    return loader;
  }

  /** The first record of a list was counted when the list was asked for. */
  const spendRest = ({ length }: unknown[], times: number) => budget.spend(Math.max(0, length - 1) * times);

  return {
    /** A value for a key, in one call of the service with the other keys of the turn. */
    one: <V>(load: Load<V>, key: string) => loaderOf(load, '', keys => load(context, keys))(key),

    /** The total of the list of a parent, in one call with the same list of the other parents. */
    total: <Q extends object>(count: CountEach<Q>, parent: string, query: Q) =>
      loaderOf(count, JSON.stringify(query), parents => count(context, parents, query))(parent),

    /** A page of the children of a parent, in one call with the same page of the other parents. */
    page: async <V>(load: LoadPages<V>, parent: string, page: Omit<Slice, 'most'>): Promise<V[]> => {
      const read: Batch<V[]> = (parents, timesOf) =>
        budget.inSequence(async remaining => {
          const most = remaining + parents.length + 1;
          const pages = await load(context, parents, { ...page, most });
          for (const [parent, children] of pages) spendRest(children, timesOf(parent));
          return pages;
        });
      return (await loaderOf(load, JSON.stringify(page), read)(parent)) ?? [];
    },

    /** A page at an end of the list of a parent, in one call with the same page of the other parents. */
    end: <T, Q extends object>(load: ReadEach<T, Q>, parent: string, query: Q) => {
      const read: Batch<CursorPage<T>> = (parents, timesOf) =>
        budget.inSequence(async remaining => {
          const pages = await load(context, parents, query, remaining + parents.length + 1);
          for (const [parent, { data }] of pages) spendRest(data, timesOf(parent));
          return pages;
        });
      return loaderOf(load, JSON.stringify(query), read)(parent);
    },
  };
}

/** Joins the lookups of one turn into one. Nothing is kept longer, because a mutation may change it in the next turn. */
function batched<V>(load: Batch<V>): Loader<V> {
  let keys = new Map<string, number>();
  let result: Promise<Map<string, V>>;
  return async key => {
    if (keys.size === 0)
      result = endOfTurn().then(() => {
        const batch = keys;
        keys = new Map();
        return load([...batch.keys()], key => batch.get(key) ?? 0);
      });
    keys.set(key, (keys.get(key) ?? 0) + 1);
    return (await result).get(key);
  };
}

/** Resolves after the promises of this turn and those that they settle. */
const endOfTurn = () =>
  new Promise<void>(resolve => void Promise.resolve().then(() => process.nextTick(resolve)));
