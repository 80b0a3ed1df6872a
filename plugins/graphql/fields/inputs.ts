import type { Static, TSchema } from '@sinclair/typebox';
import type { Violation } from '../../../schemas/error.ts';
import { invalid } from '../../../src/core/errors.ts';
import { compileCheck } from '../../../src/core/validation.ts';

/** Checks a value by the schema that REST uses: the same rules, and the same messages. */
export function checkedBy<T extends TSchema>(schema: T, part: Violation['in']) {
  const check = compileCheck(schema, part);
  return (value: object): Static<T> => {
    const violations = check(value);
    if (violations) throw invalid(violations);
    return value;
  };
}
