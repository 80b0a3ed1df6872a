import type { Static, TObject, TSchema } from '@sinclair/typebox';
import type { GraphQLResolveInfo } from 'graphql';
import type { OperationContext } from '#plugins/graphql/schema.ts';
import { strict } from '#schemas/parts/common.ts';
import type { Violation } from '#schemas/parts/error.ts';
import { argumentName } from '#schemas/parts/filters.ts';
import { invalid } from '#src/core/errors.ts';
import { keptIn } from '#src/core/kept.ts';
import { compileCheck } from '#src/core/validation.ts';
import type { ListQuery } from '#src/records/lists/rules.ts';
import { fromSortEnum } from './sdl.ts';

/** Checks a value by the schema that REST uses: the same rules, and the same messages. */
export function checkedBy<T extends TSchema>(schema: T, part: Violation['in']) {
  const check = compileCheck(schema, part);
  return (value: object): Static<T> => {
    const violations = check(value);
    if (violations) throw invalid(violations);
    return value;
  };
}

export type Arguments = Record<string, unknown>;

type Field = [args: Arguments, operation: OperationContext, info: GraphQLResolveInfo];

/**
 * Makes what a field needs for all parents in a list, once for each operation: a text of 250 kB is not checked again
 * for each of a thousand parents. They share a refusal, too.
 */
export function oncePerField<T>(make: (...field: Field) => T) {
  return (...field: Field): Promise<T> => {
    const [, { perField }, { fieldNodes }] = field;
    return keptIn(perField, fieldNodes, async () => make(...field)) as Promise<T>;
  };
}

export const withoutNulls = (args: Arguments): Arguments =>
  Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null));

/** A query that was checked by its schema. */
export type Query = ListQuery<never, never>;

/** Turns the arguments of a list into the query of its REST list, whose schema refuses them by their names here. */
export function listQuery({ properties }: TObject) {
  const names = new Map(Object.keys(properties).map(name => [argumentName(name), name]));
  const named = Object.entries(properties).map(([name, schema]) => [argumentName(name), schema]);
  const check = checkedBy(strict(Object.fromEntries(named)), 'query');
  return (args: Arguments): Query => {
    const { sort, ...rest } = withoutNulls(args);
    const query: Arguments = check(typeof sort === 'string' ? { ...rest, sort: fromSortEnum(sort) } : rest);
    return Object.fromEntries(
      Object.entries(query).map(([name, value]) => [names.get(name), value]),
    ) as object as Query;
  };
}
