import { buildSchema, type FieldNode, type GraphQLResolveInfo, isObjectType, printSchema } from 'graphql';
import type { IResolverOptions, IResolvers, MercuriusContext } from 'mercurius';
import type { Context } from '#src/access/context.ts';
import type { Budget } from '#src/access/limits/budget.ts';

/** What the resolvers of one operation share. */
export interface OperationContext {
  context: Context;
  budget: Budget;
  /** How many values a field selects of a record that it reads. */
  valuesOf: (info: GraphQLResolveInfo) => number;
  /** The context in which the fields below a mutation read, once there is a place. */
  below?: (() => Promise<Context>) | undefined;
  maxList: number;
  /** What a field made for all parents in a list, by the nodes of the field. It ends with the operation. */
  perField: Map<readonly FieldNode[], Promise<unknown>>;
  /** Fails a field below the root; a query ends with the first field that its budget refuses. */
  fail: (error: unknown, info: GraphQLResolveInfo) => Promise<never>;
  /** Tells the caller that a list was cut. */
  warnOfTruncation: (info: GraphQLResolveInfo) => void;
}

declare module 'mercurius' {
  interface MercuriusContext extends OperationContext {}
}

export type Resolver = NonNullable<IResolverOptions['resolve']>;

/** Types and fields of the schema. */
export interface SchemaPart {
  sdl: string;
  /** The resolvers of fields that are more than a member of their record, by type. */
  resolvers?: Record<string, Record<string, Resolver>>;
}

const base = /* GraphQL */ `
"A time, RFC 3339 in UTC."
scalar DateTime @specifiedBy(url: "https://scalars.graphql.org/andimarek/date-time")

"Where a page is in its list."
type PageInfo {
  hasNextPage: Boolean!
  hasPreviousPage: Boolean!
  "Null when the page is empty."
  startCursor: String
  "Null when the page is empty."
  endCursor: String
}

type Query

# A field that fails is null, so that it does not discard the results of the other mutations.
type Mutation

type Subscription
`;

/** Scalars that few resources use. */
const scalars = {
  Date: 'A day, such as 2026-11-21.',
  JSON: 'Any JSON value but null.',
};

export function makeSchema(parts: SchemaPart[]) {
  const fields = parts.map(({ sdl }) => sdl).join('\n\n');
  const used = Object.entries(scalars).filter(([name]) => new RegExp(`: \\[?${name}\\b`).test(fields));
  return buildSchema([base, ...used.map(([name, text]) => `"${text}" scalar ${name}`), fields].join('\n\n'));
}

/** The schema as text. Refuses a resolver without a field, which Mercurius would find only at the first request. */
export function schemaText(parts: SchemaPart[]): string {
  const schema = makeSchema(parts);
  for (const [type, fields] of parts.flatMap(({ resolvers = {} }) => Object.entries(resolvers))) {
    const known = schema.getType(type);
    const found = Object.keys(fields).find(name => !(isObjectType(known) && known.getFields()[name]));
    if (found) throw new Error(`There is no field ${type}.${found} for a resolver.`);
  }
  return `${printSchema(schema)}\n`;
}

/** The resolvers by type; several parts may add fields to one type. */
export function makeResolvers(parts: SchemaPart[]): IResolvers {
  const all: Record<string, Record<string, Resolver>> = {};
  for (const [type, fields] of parts.flatMap(({ resolvers = {} }) => Object.entries(resolvers))) {
    const wrap = { Query: (resolve: Resolver) => resolve, Mutation: checked }[type] ?? counted;
    for (const [name, resolve] of Object.entries(fields)) all[type] = { ...all[type], [name]: wrap(resolve) };
  }
  return all;
}

/** Refuses to begin a write when the operation was refused, or nobody waits for its result any more. */
const checked =
  (resolve: Resolver): Resolver =>
  async (parent, args, operation: MercuriusContext, info) => {
    operation.budget.check();
    return resolve(parent, args, operation, info);
  };

/**
 * Counts a field below the root before it is read. It is async, so that it never throws synchronously: if an item of a
 * list does, graphql-js forgets the promises of those before it, and a forgotten promise that fails ends the process.
 */
const counted = (resolve: Resolver): Resolver => {
  let isList: boolean | undefined;
  return async (parent, args, operation: MercuriusContext, info) => {
    const { budget, below, valuesOf } = operation;
    // The values of a list are counted when it is read.
    isList ??= info.parentType
      .getFields()
      [info.fieldName]?.args.some(({ name }) => name === 'limit' || name === 'first');
    try {
      const payment = budget.spend(1, isList ? 0 : valuesOf(info));
      if (payment) await payment;
      return await resolve(parent, args, below ? { ...operation, context: await below() } : operation, info);
    } catch (error) {
      return operation.fail(error, info);
    }
  };
};
