import DataLoader from 'dataloader';
import type { GraphQLResolveInfo } from 'graphql';
import type { Context } from '../../../src/core/context.ts';
import { keptIn } from '../../../src/core/kept.ts';
import type { Budget } from '../limits/recordBudget.ts';

/** What the resolvers of one operation share. */
export interface OperationContext {
  context: Context;
  load: ReturnType<typeof makeLoad>;
  budget: Budget;
  maxList: number;
  /** Tells the caller that a list was cut. */
  warnOfTruncation: (info: GraphQLResolveInfo) => void;
}

declare module 'mercurius' {
  interface MercuriusContext extends OperationContext {}
}

/** Loads the values of keys; `timesOf` tells how often each was asked for. */
type Batch<V> = (keys: string[], timesOf: (key: string) => number) => Promise<Map<string, V>>;

/**
 * The function that loads the value of a key in one call with the other keys of a service and of the same arguments.
 * Never shared between requests.
 */
export function makeLoad() {
  const services = new Map<unknown, Map<string, DataLoader<string, unknown>>>();
  return <V>(service: unknown, args: unknown[], key: string, batch: Batch<V>): Promise<V> => {
    const loaders = keptIn(services, service, () => new Map<string, DataLoader<string, unknown>>());
    return keptIn(loaders, JSON.stringify(args), () => loaderOf(batch)).load(key) as Promise<V>;
  };
}

/**
 * Joins the lookups of one turn into one. Nothing is kept longer, because a mutation may change it in the next turn.
 */
function loaderOf<V>(batch: Batch<V>) {
  const read = async (keys: readonly string[]) => {
    const times = new Map<string, number>();
    for (const key of keys) times.set(key, (times.get(key) ?? 0) + 1);
    const values = await batch([...times.keys()], key => times.get(key) ?? 0);
    return keys.map(key => values.get(key));
  };
  return new DataLoader<string, unknown>(read, { cache: false });
}
