import { type FieldNode, Kind, type SelectionSetNode } from 'graphql';
import type { Operation } from './reader.ts';

/** The mutations that an operation selects, by fragments too and if a variable may skip them. Two aliases are two. */
export function mutationsIn({ definition, fragments }: Operation): FieldNode[] {
  const mutations = new Map<string, FieldNode>();
  const spread = new Set<string>();
  function visit(selected: SelectionSetNode | undefined): void {
    for (const node of selected?.selections ?? [])
      if (node.kind === Kind.INLINE_FRAGMENT) visit(node.selectionSet);
      else if (node.kind === Kind.FRAGMENT_SPREAD) visitFragment(node.name.value);
      else if (node.name.value !== '__typename') mutations.set((node.alias ?? node.name).value, node);
  }
  function visitFragment(name: string): void {
    if (spread.has(name)) return;
    spread.add(name);
    visit(fragments.get(name)?.selectionSet);
  }
  visit(definition.selectionSet);
  return [...mutations.values()];
}
