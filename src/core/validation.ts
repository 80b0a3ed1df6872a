import type { IntegerOptions, StringOptions, TSchema } from '@sinclair/typebox';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats, { type FormatName } from 'ajv-formats';
import { anyJson, componentsIn, idPattern, wholeText } from '#schemas/parts/common.ts';
import type { Violation } from '#schemas/parts/error.ts';
import { filterOf, words } from '#schemas/parts/filters.ts';
import { readInstant } from './instants.ts';
import { keptIn } from './kept.ts';
import { suggestName, truncate, withArticle } from './text.ts';

/** A body with 30,000 unknown members must not cost 30,000 messages. */
const maxViolations = 20;

/** The formats that are checked, with the message about a text in another format. */
const formatMessages: Record<string, string> = {
  'date-time': 'must be a time with its zone from the year 1 to 9999, such as 2026-11-23T00:00:00Z',
  date: 'must be a date from the year 1 to 9999, such as 2026-11-23',
  email: 'must be a valid e-mail address',
  [words]: 'must have 1 to 10 words, which are letters and digits',
};

// `coerceTypes` and `removeAdditional` are off: "3" is not 3, and an unknown member is an error.
// `strictNumbers` refuses 1e999, which JSON reads as infinity: no answer can have it.
const ajv = new Ajv({
  allErrors: true,
  useDefaults: true,
  verbose: true,
  strict: false,
  strictNumbers: true,
  // A test checks the schemas: doing it here took a seventh of the start.
  validateSchema: false,
});
addFormats.default(ajv, ['date-time', 'date', 'email'] satisfies FormatName[]);
ajv.addFormat(words, text => {
  const count = text.match(/[\p{L}\p{M}\p{Nd}]+/gu)?.length ?? 0;
  return count > 0 && count <= 10;
});

/** Makes a format refuse the values that the database cannot store, such as the year 0. */
function restrict(format: string, isStorable: (text: string) => boolean): void {
  const { validate } = ajv.formats[format] as { validate: (text: string) => boolean };
  ajv.addFormat(format, text => validate(text) && isStorable(text));
}
restrict('date-time', text => readInstant(text) !== undefined);
restrict('date', text => !text.startsWith('0000'));

/**
 * Whether a JSON value can be stored and read: it has whole texts, no deep nesting, and no 1e999 (read as infinity).
 */
export function isStorableJson(value: unknown, depth = 100): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value !== 'object' || value === null) return true;
  return (
    depth > 0 &&
    Object.entries(value).every(([name, part]) => isStorableJson(name) && isStorableJson(part, depth - 1))
  );
}
ajv.addKeyword({ keyword: anyJson, validate: (_: true, value: unknown) => isStorableJson(value) });

const compiled = new Map<string, ValidateFunction>();

/** A function that fills in defaults and returns the violations of a value, or undefined. */
export function compileCheck(schema: TSchema, part: Violation['in']) {
  const components = [...componentsIn(schema)];
  // Compiles each schema once: each application of a process makes some anew, with equal names.
  const validate = keptIn(compiled, JSON.stringify([schema, components]), () => {
    for (const [id, component] of components)
      if (ajv.schemas[id]?.schema !== component) ajv.removeSchema(id).addSchema(component);
    return ajv.compile(schema);
  });
  return (value: unknown): Violation[] | undefined =>
    validate(value) ? undefined : violations(validate.errors ?? [], part);
}

function violations(errors: ErrorObject[], part: Violation['in']): Violation[] {
  const listed = new Map<string, Violation>();
  for (const error of errors.slice(0, maxViolations)) {
    const violation = { in: part, path: violationPath(error), message: violationMessage(error, part) };
    // The values of a parameter such as `status[in]` have no paths of their own, and one refusal is enough.
    if (part === 'query') violation.path = violation.path.replace(/(?<=.)\/.*/, '');
    const key = part === 'query' ? violation.path : `${violation.path} ${violation.message}`;
    if (!listed.has(key)) listed.set(key, violation);
  }
  const more = errors.length - maxViolations;
  return [...listed.values(), ...(more > 0 ? [{ in: part, path: '', message: `and ${more} more` }] : [])];
}

function violationPath({ instancePath, params }: ErrorObject): string {
  const member = params.additionalProperty ?? params.missingProperty;
  return typeof member === 'string' ? `${instancePath}/${pointerPart(member)}` : instancePath;
}

const pointerPart = (name: string) =>
  truncate(name, 100).toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1');

/** The bounds in a schema; `patternMessage` puts its pattern into words. */
type Rules = IntegerOptions & StringOptions;

const patternMessages: Record<string, string> = {
  [wholeText]: 'must not contain NUL or half of a surrogate pair',
  [idPattern]: 'must be an id',
};

/** What is wrong, in words that say how to fix it. */
function violationMessage(error: ErrorObject, part: Violation['in']): string {
  const { keyword, params, parentSchema = {}, message = 'is not valid', data } = error;
  const rules = parentSchema as Rules;
  switch (keyword) {
    case 'additionalProperties': {
      const near = nearestName(params.additionalProperty, Object.keys(parentSchema.properties));
      return near === undefined ? 'is not known' : `is not known; did you mean "${near}"?`;
    }
    case 'required':
      return 'is required';
    case 'type':
      if (part === 'query' && Array.isArray(data)) return 'must be given once';
      return params.type === 'integer' ? wholeNumber(rules) : `must be ${withArticles(params.type)}`;
    case 'minimum':
    case 'maximum':
      return wholeNumber(rules);
    case 'minLength':
    case 'maxLength':
      return `must be ${lengthRange(rules)} characters long`;
    case 'minItems':
      return `must have ${params.limit} or more items`;
    case 'maxItems':
      return `must have at most ${params.limit} items`;
    case 'enum':
      return `must be one of ${params.allowedValues.map((value: unknown) => JSON.stringify(value)).join(', ')}`;
    case 'pattern':
      return rules.patternMessage ?? patternMessages[params.pattern] ?? message;
    case anyJson:
      return 'must have whole texts without NUL, finite numbers and at most 100 levels';
    case 'format':
      return formatMessages[params.format] ?? message;
    default:
      return message;
  }
}

/** The known name that was probably meant; for an operator that a filter does not have, another one of this filter. */
function nearestName(name: string, known: string[]): string | undefined {
  const filter = filterOf(name);
  const own = known.filter(each => filterOf(each) === filter);
  return name !== filter && own.length > 0 ? (suggestName(name, own) ?? filter) : suggestName(name, known);
}

function wholeNumber({ minimum, maximum }: Rules): string {
  const range = maximum === undefined ? `, at least ${minimum}` : ` from ${minimum} to ${maximum}`;
  return `must be a whole number${minimum === undefined ? '' : range}`;
}

function lengthRange({ minLength, maxLength }: Rules): string {
  if (maxLength === undefined) return `at least ${minLength}`;
  return minLength === undefined ? `at most ${maxLength}` : `${minLength} to ${maxLength}`;
}

const withArticles = (types: string | string[]) =>
  [types]
    .flat()
    .map(type => (type === 'null' ? type : withArticle(type)))
    .join(' or ');
