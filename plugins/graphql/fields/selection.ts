import type { GraphQLResolveInfo } from 'graphql';

/** Whether no other fields are selected below a field, by fragments too. A field that a variable may skip counts. */
export function selectsOnly(names: string[], { fieldNodes, fragments }: GraphQLResolveInfo): boolean {
  const sets = new Set(fieldNodes.map(({ selectionSet }) => selectionSet));
  // The set grows while it is read. Nodes are told apart by members, because importing `Kind` would load the graphql
  // library at each start.
  for (const set of sets)
    for (const node of set?.selections ?? [])
      if (!('arguments' in node))
        sets.add(('name' in node ? fragments[node.name.value] : node)?.selectionSet);
      else if (!names.includes(node.name.value) && node.name.value !== '__typename') return false;
  return true;
}
