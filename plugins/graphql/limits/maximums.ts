import type { Settings } from '../../../schemas/settings.ts';

export type Maximums = ReturnType<typeof maximumsOf>;

/** The limits of an operation. All but the depth follow from the cost, so that one setting allows larger queries. */
export function maximumsOf({ GRAPHQL_MAX_DEPTH: depth, GRAPHQL_MAX_COST: cost }: Settings) {
  const fifth = Math.floor(cost / 5);
  return {
    depth,
    cost,
    nodes: fifth,
    tokens: fifth,
    /** Records of a list without a `limit`. */
    list: fifth,
    aliases: Math.floor((6 * cost) / 1000),
  };
}
