import { refuse } from '../errors.ts';

const maxValues = 1000;

/**
 * Refuses more values than an operation can use. The graphql library repeats a value in each error about it, so one
 * request with thousands of unknown members kept the process busy for a second and was answered with 4 MB.
 */
export function checkVariables(variables: object): void {
  const values: unknown[] = Object.values(variables);
  // The list grows while it is read.
  for (const value of values) {
    if (value !== null && typeof value === 'object')
      for (const inner of Object.values(value)) if (values.push(inner) > maxValues) throw tooMany();
  }
  if (values.length > maxValues) throw tooMany();
}

const tooMany = () => refuse('BAD_USER_INPUT', `The variables have more than ${maxValues} values.`);
