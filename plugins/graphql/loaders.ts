import DataLoader from 'dataloader';
import type { Context } from '../../src/core/context.ts';
import type { PagedList } from '../../src/services/lists/pagedList.ts';
import type { Criteria, ListQuery } from '../../src/services/lists/rules.ts';
import type { RecordBudget } from './limits/recordBudget.ts';

export type Load<V> = (context: Context, keys: string[]) => Promise<Map<string, V>>;
/** Loads the values of keys; `timesOf` tells how often each was asked for. */
type Batch<V> = (keys: string[], timesOf: (key: string) => number) => Promise<Map<string, V>>;
export type Loaders = ReturnType<typeof makeLoaders>;

/** The loaders of one request, in the context of its caller. Never shared between requests. */
export function makeLoaders(context: Context, budget: RecordBudget) {
  const loaders = new Map<unknown, Map<string, DataLoader<string, unknown>>>();

  /** The value for a key, in one call with the other keys of a service and of the same arguments. */
  function load<V>(service: unknown, args: unknown[], key: string, batch: Batch<V>) {
    const name = JSON.stringify(args);
    const known = loaders.get(service) ?? new Map<string, DataLoader<string, unknown>>();
    loaders.set(service, known);
    const loader = known.get(name) ?? loaderOf(batch);
    known.set(name, loader);
    return loader.load(key) as Promise<V>;
  }

  return {
    /** A record, or undefined, in one call of the service with the other ids of the turn. */
    one: <V>(read: Load<V>, id: string) => load<V | undefined>(read, [], id, ids => read(context, ids)),

    /** The total of the list of a parent, in one call with the same list of the other parents. */
    total: <T, F extends string, S extends string>(
      list: PagedList<T, F, S>,
      filter: F,
      parent: string,
      criteria: Criteria<F>,
    ) =>
      load(list, ['total', filter, criteria], parent, ids =>
        list.totalOfEach(context, { filter, ids }, criteria),
      ),

    /** A page of the list of a parent, in one call with the same page of the other parents. */
    page: <T, F extends string, S extends string>(
      list: PagedList<T, F, S>,
      filter: F,
      parent: string,
      query: ListQuery<F, S>,
    ) =>
      load(list, ['page', filter, query], parent, (ids, timesOf) =>
        budget.inSequence(async remaining => {
          const pages = await list.ofEach(context, { filter, ids }, query, remaining + ids.length + 1);
          // The first record of a list was counted when the list was asked for.
          for (const [id, { data }] of pages) budget.spend(Math.max(0, data.length - 1) * timesOf(id));
          return pages;
        }),
      ),
  };
}

/** Joins the lookups of one turn into one. Nothing is kept longer, because a mutation may change it in the next turn. */
function loaderOf<V>(batch: Batch<V>) {
  const read = async (keys: readonly string[]) => {
    const times = new Map<string, number>();
    for (const key of keys) times.set(key, (times.get(key) ?? 0) + 1);
    const values = await batch([...times.keys()], key => times.get(key) ?? 0);
    return keys.map(key => values.get(key));
  };
  return new DataLoader(read, { cache: false });
}
