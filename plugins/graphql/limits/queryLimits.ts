import {
  type FieldNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import { pageLimit } from '../../../schemas/lists.ts';
import type { Settings } from '../../../schemas/settings.ts';
import type { Operation } from '../documents/reader.ts';
import { DocumentError, limitError } from '../errors.ts';

/** The code of the error, and what there is too much of. */
const exceeded = {
  GRAPHQL_MAX_DEPTH: ['DEPTH_LIMIT_EXCEEDED', 'levels'],
  GRAPHQL_MAX_ALIASES: ['ALIAS_LIMIT_EXCEEDED', 'aliases'],
  GRAPHQL_MAX_NODES: ['NODE_LIMIT_EXCEEDED', 'nodes'],
  GRAPHQL_MAX_COST: ['COST_LIMIT_EXCEEDED', 'points of cost'],
} as const;
type Limit = keyof typeof exceeded;

/** For a list without a limit, whose length only the database knows. It is estimated here and counted when it is read. */
const estimatedLength = 5;
/** The schema is answered from memory, but a query can select it many times over. */
const introspectionCost = 250;

interface Query {
  schema: GraphQLSchema;
  operation: Operation;
  variables: Record<string, unknown>;
  settings: Pick<Settings, Limit>;
}

/** What a selection inherits from the fields around it. */
interface Parent {
  type: GraphQLNamedType | undefined;
  path: string[];
  records: number;
  /** Inside a connection: the length of its lists. */
  pageLength?: number | undefined;
  introspection: boolean;
  spreads: readonly string[];
}

/**
 * Visits an operation as it will run: a fragment counts wherever it is spread, a page counts its size, and variables have
 * their values. A connection counts its page once, as edges, as nodes or as both. It stops at the first limit that is
 * exceeded, so no document can keep it busy.
 */
class CostVisitor {
  readonly #query: Query;
  #aliases = 0;
  #nodes = 0;
  #cost = 0;
  #roots = 0;
  /** Whether other variables could have led to another result. */
  usesVariables = false;

  constructor(query: Query) {
    this.#query = query;
  }

  /** Returns the price of the operation: at least the requests that REST would need, one for each root field. */
  visit(): number {
    const { selectionSet, operation } = this.#query.operation.definition;
    const type = this.#query.schema.getRootType(operation) ?? undefined;
    this.#visitSelections(selectionSet, { type, path: [], records: 1, introspection: false, spreads: [] });
    return Math.max(1, this.#roots, priceOf(this.#cost));
  }

  #visitSelections({ selections }: SelectionSetNode, parent: Parent): void {
    for (const node of selections) {
      this.#check('GRAPHQL_MAX_NODES', ++this.#nodes, parent.path, node);
      if (node.kind === Kind.FIELD) this.#visitField(node, parent);
      else if (node.kind === Kind.FRAGMENT_SPREAD) this.#visitSpread(node.name.value, parent);
      else this.#visitSelections(node.selectionSet, this.#narrow(parent, node.typeCondition?.name.value));
    }
  }

  #visitSpread(name: string, parent: Parent): void {
    const fragment = this.#query.operation.fragments.get(name);
    // Unknown, or inside itself: the validation that follows refuses the document.
    if (!fragment || parent.spreads.includes(name)) return;
    const narrowed = this.#narrow(parent, fragment.typeCondition.name.value);
    this.#visitSelections(fragment.selectionSet, { ...narrowed, spreads: [...parent.spreads, name] });
  }

  #narrow(parent: Parent, typeName: string | undefined): Parent {
    return typeName === undefined ? parent : { ...parent, type: this.#query.schema.getType(typeName) };
  }

  #visitField(node: FieldNode, parent: Parent): void {
    const name = node.name.value;
    const path = [...parent.path, node.alias?.value ?? name];
    if (node.alias) this.#check('GRAPHQL_MAX_ALIASES', ++this.#aliases, path, node);
    if (path.length === 1) this.#roots++;
    const introspection = parent.introspection || name.startsWith('__');
    if (!introspection) this.#check('GRAPHQL_MAX_DEPTH', path.length, path, node);

    const field = isObjectType(parent.type) ? parent.type.getFields()[name] : undefined;
    const pageLength = isConnection(field) ? this.#pageLengthOf(node) : undefined;
    const length = isList(field) ? (parent.pageLength ?? this.#lengthOf(node)) : 1;
    const records = parent.records * length;
    if (!introspection) this.#cost += field?.resolve ? records * (pageLength ?? 1) : 0;
    else if (!parent.introspection && node.selectionSet) this.#cost += introspectionCost;
    this.#check('GRAPHQL_MAX_COST', this.#cost, path, node);
    if (node.selectionSet) {
      const type = field && getNamedType(field.type);
      this.#visitSelections(node.selectionSet, { ...parent, type, path, records, pageLength, introspection });
    }
  }

  #pageLengthOf(node: FieldNode): number {
    const lengths = ['first', 'last'].map(argument => this.#numberOf(node, argument) ?? 0);
    return Math.max(...lengths) || pageLimit.default;
  }

  #lengthOf(node: FieldNode): number {
    const limit = this.#numberOf(node, 'limit');
    if (limit !== undefined) return limit;
    return this.#numberOf(node, 'page') === undefined ? estimatedLength : pageLimit.default;
  }

  #numberOf(node: FieldNode, argument: string): number | undefined {
    const value = node.arguments?.find(({ name }) => name.value === argument)?.value;
    if (value?.kind === Kind.INT) return pageSize(Number(value.value));
    if (value?.kind !== Kind.VARIABLE) return undefined;
    this.usesVariables = true;
    const variable = value.name.value;
    // The default is for a variable that is absent, not for one that is null.
    const { variables } = this.#query;
    const given = Object.hasOwn(variables, variable) ? variables[variable] : this.#defaultOf(variable);
    return typeof given === 'number' ? pageSize(given) : undefined;
  }

  #defaultOf(name: string): number | undefined {
    const { variableDefinitions = [] } = this.#query.operation.definition;
    const value = variableDefinitions.find(({ variable }) => variable.name.value === name)?.defaultValue;
    return value?.kind === Kind.INT ? Number(value.value) : undefined;
  }

  #check(limit: Limit, value: number, path: string[], node: SelectionNode): void {
    const maximum = this.#query.settings[limit];
    if (value <= maximum) return;
    const [code, what] = exceeded[limit];
    throw new DocumentError([limitError(code, what, value, maximum, { path, node })]);
  }
}

type Field = GraphQLField<unknown, unknown> | undefined;
const isList = (field: Field) => field !== undefined && isListType(getNullableType(field.type));
const isConnection = (field: Field) => field?.args.some(({ name }) => name === 'first') ?? false;

/** A limit that is invalid is refused when it is used. Here it only must not lower the cost. */
const pageSize = (limit: number) => Math.max(1, limit);

/** In requests: a request of REST reads one page, and that many points of cost. */
export const priceOf = (cost: number) => Math.ceil(cost / pageLimit.maximum);

/** Refuses an operation that exceeds a limit; returns how many requests it counts as. */
export function checkQueryLimits(query: Query): number {
  const { operation } = query;
  if (operation.price !== undefined) return operation.price;
  const visitor = new CostVisitor(query);
  const price = visitor.visit();
  if (!visitor.usesVariables) operation.price = price;
  return price;
}
