import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  getVariableValues,
  type InlineFragmentNode,
  isListType,
  isObjectType,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
  valueFromASTUntyped,
} from 'graphql';
import type { Estimate, Operation } from '#plugins/graphql/documents/reader.ts';
import { DocumentError, limitError } from '#plugins/graphql/errors.ts';
import { pageLimit } from '#schemas/parts/lists.ts';
import type { Settings } from '#schemas/settings.ts';
import { keptIn } from '#src/core/kept.ts';

/** The limits of an operation. All but the depth follow from the cost, so that one setting allows larger queries. */
export function maximumsOf({ GRAPHQL_MAX_DEPTH: depth, GRAPHQL_MAX_COST: cost }: Settings) {
  const fifth = Math.floor(cost / 5);
  const aliases = Math.floor((6 * cost) / 1000);
  // `list` is the most records of a list without a `limit`.
  return { depth, cost, aliases, nodes: fifth, tokens: fifth, list: fifth };
}

/** The code of the error, and what there is too much of. */
const exceeded = {
  depth: ['DEPTH_LIMIT_EXCEEDED', 'levels'],
  aliases: ['ALIAS_LIMIT_EXCEEDED', 'aliases'],
  nodes: ['NODE_LIMIT_EXCEEDED', 'nodes'],
  cost: ['COST_LIMIT_EXCEEDED', 'points of cost'],
} as const;
type Limit = keyof typeof exceeded;

/** The estimated length of a list without a limit. The records are counted when the list is read. */
const estimatedLength = 5;
/** The cost of one introspection. It is answered from memory, but a query can select the schema many times over. */
const introspectionCost = 250;

interface Query {
  schema: GraphQLSchema;
  operation: Operation;
  variables: Record<string, unknown>;
  maximums: ReturnType<typeof maximumsOf>;
}

type Visit = Query & ReturnType<typeof nothing>;
const nothing = () => ({
  aliases: 0,
  nodes: 0,
  cost: 0,
  /** The cost if each list without a `limit` had the most records that it can have. */
  most: 0,
  roots: 0,
  leaves: new Map<string, Set<string>>(),
  /** Whether other variables could have led to another result. */
  usesVariables: false,
});

/** What a selection inherits from the fields around it. */
interface Parent {
  type: GraphQLNamedType | undefined;
  path: string[];
  records: number;
  most: number;
  /** The members selected from each record of the nearest enclosing field that reads records. */
  leaves: Set<string>;
  /** The length of the lists inside a connection. */
  pageLength?: number | undefined;
  introspection: boolean;
  spreads: readonly string[];
}

/**
 * Refuses an operation that exceeds a limit; returns its estimate. It is visited as it will run: a fragment counts
 * wherever it is spread, a page counts its size, and variables have their values. A connection counts its page once, as
 * edges, as nodes or as both. The visit stops at the first limit that is exceeded, so no document can keep it busy.
 */
export function checkQueryLimits(query: Query): Estimate {
  const { schema, operation } = query;
  if (operation.estimate) return operation.estimate;
  const { selectionSet, operation: kind, variableDefinitions = [] } = operation.definition;
  // Fills in the defaults of variables. Invalid values are refused before anything runs.
  const { coerced = {} } = getVariableValues(schema, variableDefinitions, query.variables, { maxErrors: 1 });
  const found: Visit = { ...query, variables: coerced, ...nothing() };
  const type = schema.getRootType(kind) ?? undefined;
  const root = { records: 1, most: 1, leaves: new Set<string>(), introspection: false, spreads: [] };
  visit(found, selectionSet, { type, path: [], ...root });
  const { cost, most, roots, leaves } = found;
  const price = Math.max(1, roots, Math.ceil(cost / pageLimit.maximum));
  const estimate = { price, most, roots, leaves };
  if (!found.usesVariables) operation.estimate = estimate;
  return estimate;
}

function visit(found: Visit, { selections }: SelectionSetNode, parent: Parent): void {
  for (const node of selections) {
    check(found, 'nodes', ++found.nodes, parent.path, node);
    if (node.kind === Kind.FIELD) visitField(found, node, parent);
    else if (node.kind === Kind.INLINE_FRAGMENT) visitFragment(found, node, parent);
    else {
      const name = node.name.value;
      const fragment = found.operation.fragments.get(name);
      // Skips a fragment that is unknown or inside itself: the validation that follows refuses the document.
      if (fragment && !parent.spreads.includes(name))
        visitFragment(found, fragment, { ...parent, spreads: [...parent.spreads, name] });
    }
  }
}

function visitFragment(found: Visit, { typeCondition: on, selectionSet }: Fragment, parent: Parent): void {
  const type = on ? found.schema.getType(on.name.value) : parent.type;
  visit(found, selectionSet, { ...parent, type });
}

function visitField(found: Visit, node: FieldNode, parent: Parent): void {
  const name = node.name.value;
  const path = [...parent.path, node.alias?.value ?? name];
  if (node.alias) check(found, 'aliases', ++found.aliases, path, node);
  const introspection = parent.introspection || name.startsWith('__');
  if (path.length === 1 && !introspection) found.roots++;
  if (!introspection) check(found, 'depth', path.length, path, node);

  const field = isObjectType(parent.type) ? parent.type.getFields()[name] : undefined;
  const pageSize = (...names: string[]) => sizeIn(found, node, ...names);
  const pageLength = isConnection(field) ? (pageSize('first', 'last') ?? pageLimit.default) : undefined;
  const limit = parent.pageLength ?? pageSize('limit') ?? (pageSize('page') && pageLimit.default);
  const records = parent.records * (isList(field) ? (limit ?? estimatedLength) : 1);
  const most = parent.most * (isList(field) ? (limit ?? found.maximums.list) : 1);
  const key = path.join();
  let { leaves } = parent;
  if (field?.resolve) {
    found.cost += records * (pageLength ?? 1);
    found.most += most * (pageLength ?? 1);
    leaves = keptIn(found.leaves, key, () => new Set());
  } else if (!introspection && !node.selectionSet && parent.type?.name !== 'PageInfo') leaves.add(key);
  if (introspection && !parent.introspection && node.selectionSet) found.cost += introspectionCost;
  check(found, 'cost', found.cost, path, node);
  if (node.selectionSet) {
    const type = field && getNamedType(field.type);
    visit(found, node.selectionSet, {
      ...parent,
      type,
      path,
      records,
      most,
      leaves,
      pageLength,
      introspection,
    });
  }
}

/** The size of a page that one of these arguments asks for. */
function sizeIn(found: Visit, { arguments: args = [] }: FieldNode, ...names: string[]): number | undefined {
  const values = args.filter(({ name }) => names.includes(name.value)).map(({ value }) => value);
  found.usesVariables ||= values.some(({ kind }) => kind === Kind.VARIABLE);
  const sizes = values.map(value => valueFromASTUntyped(value, found.variables));
  const numbers = sizes.filter(size => typeof size === 'number');
  // An invalid size is refused when it is used. Until then it must not lower the cost.
  return numbers.length > 0 ? Math.max(1, ...numbers) : undefined;
}

function check({ maximums }: Query, limit: Limit, value: number, path: string[], node: SelectionNode): void {
  const maximum = maximums[limit];
  if (value <= maximum) return;
  const [code, what] = exceeded[limit];
  throw new DocumentError([limitError(code, what, value, maximum, { path, node })]);
}

type Fragment = InlineFragmentNode | FragmentDefinitionNode;
type Field = GraphQLField<unknown, unknown> | undefined;
const isList = (field: Field) => field !== undefined && isListType(getNullableType(field.type));
const isConnection = (field: Field) => field?.args.some(({ name }) => name === 'first') ?? false;
