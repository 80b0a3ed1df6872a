import type { Static, TSchema } from '@sinclair/typebox';
import type { MercuriusContext } from 'mercurius';
import { ref } from '../../schemas/common.ts';
import type { Violation } from '../../schemas/error.ts';
import type { Context } from '../../src/core/context.ts';
import { invalid } from '../../src/core/errors.ts';
import { compileCheck } from '../../src/core/validation.ts';

export type ById = { id: string };

/** Checks a value by the schema that REST uses: the same rules, and the same messages. */
export function checkedBy<T extends TSchema>(schema: T, part: Violation['in']) {
  const check = compileCheck(schema, part);
  return (value: object): Static<T> => {
    const violations = check(value);
    if (violations) throw invalid(violations);
    return value;
  };
}

export function creating<S extends TSchema>(
  create: (context: Context, input: Static<S>) => Promise<unknown>,
  schema: S,
) {
  const check = checkedBy(ref(schema), 'body');
  return (_: unknown, { input }: { input: object }, { context }: MercuriusContext) =>
    create(context, check(input));
}

export function changing<S extends TSchema>(
  change: (context: Context, id: string, input: Static<S>) => Promise<unknown>,
  schema: S,
) {
  const check = checkedBy(ref(schema), 'body');
  return (_: unknown, { id, input }: ById & { input: object }, { context }: MercuriusContext) =>
    change(context, id, check(input));
}
