import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLResolveInfo,
  Kind,
  type SelectionSetNode,
} from 'graphql';
import type { Operation } from './reader.ts';

type FragmentOf = (name: string) => FragmentDefinitionNode | undefined;

/** The fields that are selected, by fragments too, including those that a variable may skip. */
function* fieldsIn(
  set: SelectionSetNode | undefined,
  fragmentOf: FragmentOf,
  spread = new Set<string>(),
): Generator<FieldNode> {
  for (const node of set?.selections ?? []) {
    if (node.kind === Kind.FIELD) yield node;
    else if (node.kind === Kind.INLINE_FRAGMENT) yield* fieldsIn(node.selectionSet, fragmentOf, spread);
    else if (!spread.has(node.name.value)) {
      spread.add(node.name.value);
      yield* fieldsIn(fragmentOf(node.name.value)?.selectionSet, fragmentOf, spread);
    }
  }
}

/** The names of the fields that are selected below this field. */
export function selectedNames({ fieldNodes, fragments }: GraphQLResolveInfo): Set<string> {
  const fields = fieldNodes.flatMap(({ selectionSet }) => [
    ...fieldsIn(selectionSet, name => fragments[name]),
  ]);
  return new Set(fields.map(({ name }) => name.value));
}

/** Whether an operation selects nothing but the schema: its answer depends on neither the caller nor the data. */
export const isIntrospection = ({ definition, fragments }: Operation): boolean =>
  (definition.variableDefinitions ?? []).length === 0 &&
  [...fieldsIn(definition.selectionSet, name => fragments.get(name))].every(({ name }) =>
    name.value.startsWith('__'),
  );

/** The mutations that an operation selects; one with two aliases is two. */
export function mutationsIn({ definition, fragments }: Operation): FieldNode[] {
  const fields = [...fieldsIn(definition.selectionSet, name => fragments.get(name))];
  const mutations = fields.filter(({ name }) => name.value !== '__typename');
  return [...new Map(mutations.map(field => [(field.alias ?? field.name).value, field])).values()];
}
