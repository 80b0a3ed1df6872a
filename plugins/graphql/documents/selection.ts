import { Kind, type SelectionSetNode } from 'graphql';
import type { Operation } from './reader.ts';

/** How many mutations an operation selects, by fragments too and if a variable may skip them. Two aliases are two. */
export function countMutations({ definition, fragments }: Operation): number {
  const mutations = new Set<string>();
  const spread = new Set<string>();
  function visit(selected: SelectionSetNode | undefined): void {
    for (const node of selected?.selections ?? [])
      if (node.kind === Kind.INLINE_FRAGMENT) visit(node.selectionSet);
      else if (node.kind === Kind.FRAGMENT_SPREAD) visitFragment(node.name.value);
      else if (node.name.value !== '__typename') mutations.add((node.alias ?? node.name).value);
  }
  function visitFragment(name: string): void {
    if (spread.has(name)) return;
    spread.add(name);
    visit(fragments.get(name)?.selectionSet);
  }
  visit(definition.selectionSet);
  return mutations.size;
}
