import type { GraphQLError } from 'graphql';
import type { IResolverOptions } from 'mercurius';
import type { Context } from '../../src/core/context.ts';
import type { RecordBudget } from './limits/recordBudget.ts';
import type { Load } from './loaders.ts';

/** What the resolvers of one operation share. */
export interface OperationContext {
  context: Context;
  load: Load;
  budget: RecordBudget;
  maxList: number;
  /** What the caller must know besides errors: a list that was cut. */
  warnings: GraphQLError[];
}

declare module 'mercurius' {
  interface MercuriusContext extends OperationContext {}
}

export type Resolver = NonNullable<IResolverOptions['resolve']>;
export type Resolvers = Record<string, Resolver>;

/** A part of the schema: types and fields with their resolvers. */
export interface Part {
  sdl: string[];
  Query?: Resolvers;
  Mutation?: Resolvers;
  /** The resolvers of fields that are more than a member of their record, by type. */
  types?: Record<string, Resolvers>;
}
