import { type GraphQLResolveInfo, Kind } from 'graphql';

/** Whether no other fields are selected below a field, by fragments too. A field that a variable may skip counts. */
export function selectsOnly(names: string[], { fieldNodes, fragments }: GraphQLResolveInfo): boolean {
  const sets = new Set(fieldNodes.map(({ selectionSet }) => selectionSet));
  // The set grows while it is read.
  for (const set of sets)
    for (const node of set?.selections ?? [])
      if (node.kind !== Kind.FIELD)
        sets.add((node.kind === Kind.INLINE_FRAGMENT ? node : fragments[node.name.value])?.selectionSet);
      else if (!names.includes(node.name.value) && node.name.value !== '__typename') return false;
  return true;
}
