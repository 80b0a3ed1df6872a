import type { TSchema } from '@sinclair/typebox';
import { Ajv, type ErrorObject } from 'ajv';
import addFormats from 'ajv-formats';
import { idPattern, wholeText } from '../../schemas/common.ts';
import type { Violation } from '../../schemas/error.ts';
import { components } from '../../schemas/index.ts';
import { suggestName } from './suggestName.ts';
import { truncate } from './text.ts';

/** More than these would say no more, and a body of 30,000 unknown members would be work for nothing. */
const mostViolations = 20;

// Nothing is dropped and nothing is converted: "3" is not 3, and an unknown member is an error.
const ajv = new Ajv({
  allErrors: true,
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: true,
  verbose: true,
  strict: false,
});
addFormats.default(ajv, ['date-time', 'email']);
for (const component of components) ajv.addSchema(component);

/** A function that fills in defaults and returns what is wrong with a value, or nothing. */
export function compileCheck(schema: TSchema, part: Violation['in']) {
  const validate = ajv.compile(schema);
  return (value: unknown): Violation[] | undefined =>
    validate(value) ? undefined : violations(validate.errors ?? [], part);
}

function violations(errors: ErrorObject[], part: Violation['in']): Violation[] {
  const told = errors
    .slice(0, mostViolations)
    .map(error => ({ in: part, path: pathOf(error), message: say(error, part) }));
  const more = errors.length - told.length;
  return more > 0 ? [...told, { in: part, path: '', message: `and ${more} more` }] : told;
}

const pointerPart = (name: string) =>
  truncate(name, 100).toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1');

function pathOf({ instancePath, params }: ErrorObject): string {
  const member = params.additionalProperty ?? params.missingProperty;
  return typeof member === 'string' ? `${instancePath}/${pointerPart(member)}` : instancePath;
}

type Bounds = { minimum?: number; maximum?: number; minLength?: number; maxLength?: number };

/** What is wrong, in words that name the way out. */
function say(
  { keyword, params, parentSchema = {}, message = 'is not valid', data }: ErrorObject,
  part: string,
): string {
  const { minimum, maximum, minLength, maxLength } = parentSchema as Bounds;
  const range = minimum === undefined ? '' : ` from ${minimum} to ${maximum}`;
  switch (keyword) {
    case 'additionalProperties': {
      const near = suggestName(params.additionalProperty, Object.keys(parentSchema.properties));
      return `is not known${near ? `; did you mean "${near}"?` : ''}`;
    }
    case 'required':
      return 'is required';
    case 'type':
      if (part === 'query' && Array.isArray(data)) return 'must be given once';
      return params.type === 'integer' ? `must be a whole number${range}` : `must be ${article(params.type)}`;
    case 'minimum':
    case 'maximum':
      return `must be a whole number${range}`;
    case 'minLength':
    case 'maxLength':
      if (maxLength === undefined) return `must be at least ${minLength} characters long`;
      return `must be ${minLength === undefined ? 'at most' : `${minLength} to`} ${maxLength} characters long`;
    case 'enum':
      return `must be one of ${params.allowedValues.map((value: unknown) => JSON.stringify(value)).join(', ')}`;
    case 'pattern':
      if (params.pattern === wholeText) return 'must not contain NUL or half of a surrogate pair';
      return params.pattern === idPattern ? 'must be an id' : message;
    case 'format':
      return params.format === 'email'
        ? 'must be a valid e-mail address'
        : `must be a valid ${params.format}`;
    default:
      return message;
  }
}

const article = (types: string | string[]) =>
  [types]
    .flat()
    .map(type => (/^[aeiou]/.test(type) ? `an ${type}` : type === 'null' ? type : `a ${type}`))
    .join(' or ');
