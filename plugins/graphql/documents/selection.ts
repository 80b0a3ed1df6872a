import { type FieldNode, type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql';

type Selected = Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>;

/** By the nodes, which are the same objects each time a compiled query runs. */
const known = new WeakMap<readonly FieldNode[], ReadonlySet<string>>();

/** The names of the fields that a query selects below this field, including those that a variable may skip. */
export function selectedFields({ fieldNodes, fragments }: Selected): ReadonlySet<string> {
  const kept = known.get(fieldNodes);
  if (kept) return kept;
  const names = new Set<string>();
  const collect = (set: SelectionSetNode | undefined): void => {
    for (const node of set?.selections ?? []) {
      if (node.kind === Kind.FIELD) names.add(node.name.value);
      else if (node.kind === Kind.INLINE_FRAGMENT) collect(node.selectionSet);
      else collect(fragments[node.name.value]?.selectionSet);
    }
  };
  for (const node of fieldNodes) collect(node.selectionSet);
  known.set(fieldNodes, names);
  return names;
}
