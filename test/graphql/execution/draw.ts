import {
  astFromValue,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isNonNullType,
  isObjectType,
  print,
  specifiedDirectives,
  TypeNameMetaFieldDef,
} from 'graphql';

export type Variables = Record<string, unknown>;
export type Kind = 'query' | 'mutation';

/** What operations are made of. */
export interface Material {
  schema: GraphQLSchema;
  /** The fields to select, by type. */
  fields: Record<string, string[]>;
  /** Values by the name of an argument or member of an input, or `field.name`. What has none is left out, except enums. */
  values: Record<string, unknown[]>;
  /** Values that are refused when the field runs. */
  refused: Record<string, unknown[]>;
}

type Place = GraphQLArgument | GraphQLInputField;
/** Where a value is used: for which field, and whether it may be one that is refused. */
interface Use {
  field: string;
  mayRefuse: () => boolean;
}
interface Head {
  text: string;
  field: GraphQLField<unknown, unknown>;
}

const conditions = specifiedDirectives
  .filter(({ name }) => name === 'skip' || name === 'include')
  .flatMap(({ name, args }) => args.map(arg => ({ name, arg })));

/**
 * A random operation with aliases, equal fields, fragments and directives, whose variables can be drawn again: sent, null or
 * absent, with and without defaults. Nearly all are valid. Outside the root of a mutation at most one field is refused when
 * it runs: if two were, either could fail first.
 */
export class OperationDraw {
  readonly #material: Material;
  readonly #random: () => number;
  readonly #fragments = new Map<string, { type: GraphQLObjectType; text: string }>();
  readonly #definitions: string[] = [];
  /** The values of variables, undefined if they are not sent. */
  readonly #values = new Map<string, () => unknown>();
  /** Names of variables by the use that they fit, to be used again. */
  readonly #known = new Map<string, string>();
  readonly #usedAgain = new Set<string>();
  #names = 0;
  #refusals = 1;
  /** What is refused in a fragment would be refused wherever it is spread. */
  #isInFragment = false;
  readonly query: string;

  constructor(material: Material, random: () => number, kind: Kind) {
    this.#material = material;
    this.#random = random;
    const { schema } = material;
    const root = kind === 'query' ? schema.getQueryType() : schema.getMutationType();
    const selections = this.#selections(root as GraphQLObjectType, 4);
    const fragments = [...this.#fragments].map(
      ([name, { type, text }]) => `fragment ${name} on ${type} ${text}`,
    );
    const variables = this.#definitions.length > 0 ? `(${this.#definitions.join(', ')})` : '';
    this.query = [`${kind} Drawn${variables} ${selections}`, ...fragments].join('\n');
  }

  /** Other values at each call. */
  variables(): Variables {
    const refusals = this.#refusals;
    const values = [...this.#values].map(([name, draw]) => [name, draw()]);
    this.#refusals = refusals;
    return Object.fromEntries(values.filter(([, value]) => value !== undefined));
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }

  #oneOf<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)] as T;
  }

  #newName(prefix: string): string {
    return `${prefix}${++this.#names}`;
  }

  #selections(type: GraphQLObjectType, depth: number): string {
    const heads: Head[] = [];
    const count = 1 + Math.floor(this.#random() * 4);
    const selections = Array.from({ length: count }, () => this.#selection(type, depth, heads));
    return `{ ${selections.join(' ')} }`;
  }

  #selection(type: GraphQLObjectType, depth: number, heads: Head[]): string {
    if (depth > 1 && this.#chance(0.15)) {
      const condition = this.#chance(0.5) ? ` on ${type}` : '';
      return `...${condition}${this.#directive(type)} ${this.#selections(type, depth - 1)}`;
    }
    if (depth > 1 && this.#chance(0.15)) return `...${this.#fragment(type, depth)}${this.#directive(type)}`;
    const head = heads.length > 0 && this.#chance(0.2) ? this.#oneOf(heads) : this.#head(type, depth);
    heads.push(head);
    const inner = getNamedType(head.field.type);
    const below = isObjectType(inner) ? ` ${this.#selections(inner, depth - 1)}` : '';
    return `${head.text}${this.#directive(type)}${below}`;
  }

  /** The name of a fragment, which may be one that is spread elsewhere too. */
  #fragment(type: GraphQLObjectType, depth: number): string {
    const known = [...this.#fragments].filter(
      ([, fragment]) => fragment.type === type && fragment.text !== '',
    );
    if (known.length > 0 && this.#chance(0.5)) return this.#oneOf(known)[0];
    const name = this.#newName('F');
    // Empty while it is drawn, so that it is never spread inside itself.
    this.#fragments.set(name, { type, text: '' });
    const wasInFragment = this.#isInFragment;
    this.#isInFragment = true;
    const text = this.#selections(type, depth - 1);
    this.#isInFragment = wasInFragment;
    this.#fragments.set(name, { type, text });
    return name;
  }

  #directive(type: GraphQLObjectType): string {
    if (this.#chance(0.8)) return '';
    const { name, arg } = this.#oneOf(conditions);
    return ` @${name}(if: ${this.#value(arg, this.#use(type, name))})`;
  }

  /** A field with its arguments. With arguments it has an alias of its own, because equal names need equal arguments. */
  #head(type: GraphQLObjectType, depth: number): Head {
    const names = this.#material.fields[type.name] ?? [];
    const known = Object.values(type.getFields()).filter(({ name }) => names.includes(name));
    const [lists, leaves] = [known.filter(hasSelections), known.filter(field => !hasSelections(field))];
    const isDeep = depth > 1 && lists.length > 0 && this.#chance(0.5);
    const field = this.#oneOf(isDeep ? lists : [...leaves, TypeNameMetaFieldDef]);
    const use = this.#use(type, field.name);
    const args = this.#drawn(field.args).map(arg => `${arg.name}: ${this.#value(arg, use)}`);
    const alias = args.length > 0 || this.#chance(0.2) ? `${this.#newName('a')}: ` : '';
    return { text: `${alias}${field.name}${args.length > 0 ? `(${args.join(', ')})` : ''}`, field };
  }

  #use(type: GraphQLObjectType, field: string): Use {
    if (type === this.#material.schema.getMutationType()) return { field, mayRefuse: () => true };
    const isInFragment = this.#isInFragment;
    return { field, mayRefuse: () => !isInFragment && this.#refusals-- > 0 };
  }

  #drawn<P extends Place>(places: readonly P[]): P[] {
    return places.filter(place => isRequired(place) || (this.#hasValue(place) && this.#chance(0.4)));
  }

  #hasValue({ name, type }: Place): boolean {
    const inner = getNullableType(type);
    return isEnumType(inner) || isInputObjectType(inner) || name in this.#material.values;
  }

  #value(place: Place, use: Use): string {
    if (this.#chance(0.4)) return `$${this.#variable(place, use)}`;
    if (!isNonNullType(place.type) && this.#chance(0.1)) return 'null';
    const inner = getNullableType(place.type);
    if (!isInputObjectType(inner)) return toText(this.#plain(place.name, inner, use), inner);
    const members = this.#drawn(Object.values(inner.getFields()));
    return `{ ${members.map(member => `${member.name}: ${this.#value(member, use)}`).join(', ')} }`;
  }

  #variable(place: Place, use: Use): string {
    const key = `${use.field}.${place.name}: ${place.type}`;
    const known = this.#known.get(key);
    if (known === undefined || this.#chance(0.7)) {
      const name = this.#newVariable(place, use);
      this.#known.set(key, name);
      return name;
    }
    this.#usedAgain.add(known);
    return known;
  }

  /** A nullable variable with a default is valid in a required place, unless its value is null. */
  #newVariable(place: Place, use: Use): string {
    const name = this.#newName('v');
    const inner = getNullableType(place.type);
    const mayRefuse = () => !this.#usedAgain.has(name) && use.mayRefuse();
    const value = () => this.#plain(place.name, inner, { ...use, mayRefuse });
    const fallback = this.#chance(0.4)
      ? toText(this.#plain(place.name, inner, { ...use, mayRefuse: () => false }), inner)
      : '';
    const isStrict = (isRequired(place) && fallback === '') || this.#chance(0.3);
    this.#definitions.push(`$${name}: ${inner}${isStrict ? '!' : ''}${fallback && ` = ${fallback}`}`);
    this.#values.set(name, () => {
      if (this.#chance(0.02)) return this.#oneOf([null, [[]], { no: 1 }]);
      if (!isStrict && this.#chance(0.2) && (!isNonNullType(place.type) || mayRefuse())) return null;
      return (isStrict && fallback === '') || this.#chance(0.6) ? value() : undefined;
    });
    return name;
  }

  #plain(name: string, inner: GraphQLInputType, use: Use): unknown {
    if (isInputObjectType(inner)) {
      const members = this.#drawn(Object.values(inner.getFields()));
      return Object.fromEntries(
        members.map(member => [
          member.name,
          !isNonNullType(member.type) && this.#chance(0.1)
            ? null
            : this.#plain(member.name, getNullableType(member.type), use),
        ]),
      );
    }
    if (isEnumType(inner)) return this.#oneOf(inner.getValues()).value;
    const { values, refused } = this.#material;
    const isRefused = name in refused && this.#chance(0.15) && use.mayRefuse();
    return this.#oneOf((isRefused ? refused[name] : (values[`${use.field}.${name}`] ?? values[name])) ?? []);
  }
}

const hasSelections = ({ type }: GraphQLField<unknown, unknown>) => isObjectType(getNamedType(type));

const isRequired = ({ type, defaultValue }: Place) => isNonNullType(type) && defaultValue === undefined;

function toText(value: unknown, type: GraphQLInputType): string {
  const node = astFromValue(value, type);
  if (!node) throw new Error(`${JSON.stringify(value)} is no ${type}`);
  return print(node);
}
