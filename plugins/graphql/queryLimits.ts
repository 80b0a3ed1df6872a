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
import { pageLimit } from '../../schemas/common.ts';
import type { Operation } from './documents.ts';
import { DocumentError, limitError } from './errors.ts';

export interface Limits {
  depth: number;
  aliases: number;
  nodes: number;
  cost: number;
}

/** A list that names no limit has a length that only the database knows. It is guessed here and counted there. */
const guessedLength = 5;
/** The schema is answered from memory, but a query can ask for it many times over. */
const introspectionCost = 250;

/** Where in a document the walk is: everything that a field inherits from those around it. */
interface Place {
  type: GraphQLNamedType | undefined;
  path: string[];
  /** How many records there can be at this place. */
  records: number;
  introspection: boolean;
  spreads: readonly string[];
}

/**
 * Walks through an operation as it will run: a fragment counts wherever it is spread, a page for its size, and
 * variables for their values. It ends at the first limit that is exceeded, so no document makes it walk for long.
 */
class Walk {
  readonly #schema: GraphQLSchema;
  readonly #operation: Operation;
  readonly #variables: Record<string, unknown>;
  readonly #limits: Limits;
  #aliases = 0;
  #nodes = 0;
  #cost = 0;
  #roots = 0;
  /** Whether other variables could have led to another result. */
  dependent = false;

  constructor(schema: GraphQLSchema, operation: Operation, variables: object, limits: Limits) {
    this.#schema = schema;
    this.#operation = operation;
    this.#variables = { ...variables };
    this.#limits = limits;
  }

  start(): void {
    const { operation, selectionSet } = this.#operation.definition;
    const type = this.#schema.getRootType(operation) ?? undefined;
    this.#visitAll(selectionSet, { type, path: [], records: 1, introspection: false, spreads: [] });
  }

  /** In requests: as many as REST would have needed at least, one for each field of the root. */
  get price(): number {
    return Math.max(1, this.#roots, priceOf(this.#cost));
  }

  #visitAll({ selections }: SelectionSetNode, place: Place): void {
    for (const selection of selections) {
      this.#hold('NODE_LIMIT_EXCEEDED', 'nodes', ++this.#nodes, this.#limits.nodes, place.path, selection);
      if (selection.kind === Kind.FIELD) this.#visitField(selection, place);
      else if (selection.kind === Kind.INLINE_FRAGMENT)
        this.#visitAll(selection.selectionSet, this.#narrow(place, selection.typeCondition?.name.value));
      else this.#visitSpread(selection.name.value, place);
    }
  }

  #visitSpread(name: string, place: Place): void {
    const fragment = this.#operation.fragments.get(name);
    // An unknown fragment, or one that includes itself: the validation that follows refuses the document.
    if (!fragment || place.spreads.includes(name)) return;
    const inside = this.#narrow(place, fragment.typeCondition.name.value);
    this.#visitAll(fragment.selectionSet, { ...inside, spreads: [...place.spreads, name] });
  }

  #narrow(place: Place, typeName: string | undefined): Place {
    return typeName === undefined ? place : { ...place, type: this.#schema.getType(typeName) };
  }

  #visitField(node: FieldNode, place: Place): void {
    const name = node.name.value;
    const path = [...place.path, node.alias?.value ?? name];
    if (node.alias)
      this.#hold('ALIAS_LIMIT_EXCEEDED', 'aliases', ++this.#aliases, this.#limits.aliases, path, node);
    if (path.length === 1) this.#roots++;
    const introspection = place.introspection || name.startsWith('__');
    if (!introspection)
      this.#hold('DEPTH_LIMIT_EXCEEDED', 'levels', path.length, this.#limits.depth, path, node);

    const field = isObjectType(place.type) ? place.type.getFields()[name] : undefined;
    const records = place.records * this.#lengthOf(field, node);
    if (!introspection) this.#cost += field?.resolve ? records : 0;
    else if (!place.introspection && node.selectionSet) this.#cost += introspectionCost;
    this.#hold('COST_LIMIT_EXCEEDED', 'points of cost', this.#cost, this.#limits.cost, path, node);
    if (node.selectionSet) {
      const type = field && getNamedType(field.type);
      this.#visitAll(node.selectionSet, { ...place, type, path, records, introspection });
    }
  }

  #lengthOf(field: GraphQLField<unknown, unknown> | undefined, node: FieldNode): number {
    if (!field || !isListType(getNullableType(field.type))) return 1;
    const given = (name: string) => this.#numberOf(node, name);
    return given('limit') ?? (given('page') === undefined ? guessedLength : pageLimit.default);
  }

  #numberOf(node: FieldNode, name: string): number | undefined {
    const value = node.arguments?.find(argument => argument.name.value === name)?.value;
    if (value?.kind === Kind.INT) return pageSize(Number(value.value));
    if (value?.kind !== Kind.VARIABLE) return undefined;
    this.dependent = true;
    const variable = value.name.value;
    // A variable that is given as null is null; only for one that is absent there is the default.
    const given = Object.hasOwn(this.#variables, variable)
      ? this.#variables[variable]
      : this.#defaultOf(variable);
    return typeof given === 'number' ? pageSize(given) : undefined;
  }

  #defaultOf(variable: string): number | undefined {
    const { variableDefinitions = [] } = this.#operation.definition;
    const value = variableDefinitions.find(one => one.variable.name.value === variable)?.defaultValue;
    return value?.kind === Kind.INT ? Number(value.value) : undefined;
  }

  #hold(
    code: string,
    what: string,
    value: number,
    maximum: number,
    path: string[],
    node: SelectionNode,
  ): void {
    if (value > maximum) throw new DocumentError([limitError(code, what, value, maximum, { path, node })]);
  }
}

/** A page that is too long is refused when it is read. Here only its sign matters: it must not lower the cost. */
const pageSize = (limit: number) => Math.max(1, limit);

/** A page of REST holds this many records and is one request; so is this much of GraphQL's cost. */
export const priceOf = (cost: number) => Math.ceil(cost / pageLimit.maximum);

/** Refuses an operation that asks for too much at once; returns for how many requests the others count. */
export function holdLimits(
  schema: GraphQLSchema,
  operation: Operation,
  variables: object,
  limits: Limits,
): number {
  if (operation.price !== undefined) return operation.price;
  const walk = new Walk(schema, operation, variables, limits);
  walk.start();
  if (!walk.dependent) operation.price = walk.price;
  return walk.price;
}
