import { type FieldNode, type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql';

type Asked = Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>;

/** A compiled query hands in the same nodes each time. */
const known = new WeakMap<readonly FieldNode[], ReadonlySet<string>>();

/** The names of the fields that a query wants of what this field returns, those that a variable may skip included. */
export function fieldsAsked({ fieldNodes, fragments }: Asked): ReadonlySet<string> {
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
