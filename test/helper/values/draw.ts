import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';

export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
}
interface Document {
  components: { schemas: Record<string, Schema> };
}

/** The times that a database can store. */
const storable = { min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z') };

/** Draws valid and invalid values from the schemas of an OpenAPI document. */
export class Draw {
  readonly #document: Document;
  readonly #ajv = new Ajv2020({ strict: false });
  readonly #checks = new Map<Schema, ValidateFunction>();

  constructor(document: object) {
    this.#document = document as Document;
    addFormats.default(this.#ajv);
    this.#ajv.addSchema(document, 'document');
  }

  isValid(schema: Schema, value: unknown): boolean {
    const within = schema.$ref ? { $ref: `document${schema.$ref}` } : schema;
    const check = this.#checks.get(schema) ?? this.#ajv.compile(within);
    this.#checks.set(schema, check);
    return check(value);
  }

  /** Draws values that the schema allows. An id that it requires may be one of `ids`. */
  valid(schema: Schema, ids: string[]): fc.Arbitrary<unknown> {
    return this.#shape(schema, ids).filter(value => this.isValid(schema, value));
  }

  #shape(schema: Schema, ids: string[]): fc.Arbitrary<unknown> {
    const { type, properties = {}, required = [], minimum = -1e6, maximum = 1e6 } = this.resolve(schema);
    if (schema.enum) return fc.constantFrom(...schema.enum);
    if (Array.isArray(type))
      return fc.oneof(...type.map(each => this.#shape({ ...schema, type: each }, ids)));
    if (type === 'null') return fc.constant(null);
    if (type === 'boolean') return fc.boolean();
    if (type === 'integer')
      return fc.oneof(
        fc.integer({ min: minimum, max: Math.min(maximum, 12) }),
        fc.integer({ min: minimum, max: maximum }),
      );
    if (type === 'number') return fc.double({ min: minimum, max: maximum, noNaN: true });
    if (type === 'string') return this.#text(schema, ids);
    if (type === 'array')
      return schema.items ? this.#list(schema, schema.items, ids) : fc.array(fc.jsonValue());
    if (Object.keys(schema).join() === 'description') return fc.jsonValue();
    // What is left must be an object: nothing else that is drawn would be valid, and the test would hang.
    if (type !== 'object') throw new Error(`cannot draw ${JSON.stringify(schema)}`);
    if (Object.keys(properties).length === 0) return fc.dictionary(fc.string(), fc.jsonValue());
    const members = Object.entries(properties).map(
      ([name, member]) => [name, this.valid(member, ids)] as const,
    );
    return fc.record(Object.fromEntries(members), { requiredKeys: required });
  }

  #list(
    { minItems = 0, maxItems = 10, uniqueItems = false }: Schema,
    items: Schema,
    ids: string[],
  ): fc.Arbitrary<unknown> {
    const length = { minLength: minItems, maxLength: maxItems };
    return (uniqueItems ? fc.uniqueArray : fc.array)(this.valid(items, ids), length);
  }

  #text(
    { format, pattern = '', minLength = 0, maxLength = 300 }: Schema,
    ids: string[],
  ): fc.Arbitrary<string> {
    if (format === 'email') return fc.emailAddress();
    const times = fc.date({ ...storable, noInvalidDate: true }).map(date => date.toISOString());
    if (format === 'date-time') return times;
    if (format === 'date') return times.map(time => time.slice(0, 10));
    if (pattern.includes('[0-9a-f]')) return fc.oneof(fc.constantFrom(...ids), fc.uuid());
    const length = { minLength, maxLength };
    const texts = [
      fc.string({ unit: 'binary', ...length }),
      fc.string({ unit: 'grapheme', minLength, maxLength: 20 }),
    ];
    return fc.oneof(...texts, ...(pattern ? [] : [fc.constantFrom(...ids)]));
  }

  /** Draws bodies that the schema refuses: another value altogether, or one member changed, added or missing. */
  invalid(schema: Schema, ids: string[]): fc.Arbitrary<unknown> {
    const names = Object.keys(this.resolve(schema).properties ?? {});
    const whole = this.valid(schema, ids) as fc.Arbitrary<Record<string, unknown>>;
    const changed = fc
      .tuple(whole, fc.constantFrom(...names), strange)
      .map(([value, name, other]) => ({ ...value, [name]: other }));
    const added = fc
      .tuple(whole, anyName, strange)
      .map(([value, name, other]) => ({ ...value, [name]: other }));
    const missing = fc
      .tuple(whole, fc.constantFrom(...names))
      .map(([value, name]) => Object.fromEntries(Object.entries(value).filter(([key]) => key !== name)));
    return fc.oneof(changed, changed, added, missing, strange).filter(value => !this.isValid(schema, value));
  }

  resolve(schema: Schema): Schema {
    return (schema.$ref && this.#document.components.schemas[schema.$ref.split('/').at(-1) ?? '']) || schema;
  }
}

/** Names of members and parameters, including those that every object inherits. */
export const anyName = fc.oneof(
  fc.string(),
  fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty', '__defineGetter__'),
);

/** Values of any kind, including some that break parsers, limits and databases. */
export const strange: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(
    null,
    '',
    0,
    -1,
    1e308,
    true,
    [],
    {},
    '3',
    'null',
    '\u0000',
    '\ud800',
    '\ufffe',
    'x'.repeat(600),
  ),
  fc.constantFrom(
    "' or 1=1 --",
    '$1',
    '%s',
    '../../..',
    '1e20',
    '9'.repeat(400),
    'draft ',
    'a@b',
    '2026-02-30T00:00:00Z',
  ),
);
