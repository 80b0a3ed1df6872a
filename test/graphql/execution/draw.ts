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
  Lexer,
  print,
  Source,
  specifiedDirectives,
  TokenKind,
  TypeNameMetaFieldDef,
} from 'graphql';

export interface Operation {
  query: string;
  variables: Record<string, unknown>;
}
export type Kind = 'query' | 'mutation';

/** What operations are made of. */
export interface Material {
  schema: GraphQLSchema;
  /** The fields to select, by type. */
  fields: Record<string, string[]>;
  /** Values of arguments and of members of inputs, by name. What has none is left out, except enums. */
  values: Record<string, unknown[]>;
  /** Values that are refused when the field runs. */
  refused: Record<string, unknown[]>;
}

type Place = GraphQLArgument | GraphQLInputField;
interface Head {
  text: string;
  field: GraphQLField<unknown, unknown>;
}

const conditions = specifiedDirectives
  .filter(({ name }) => name === 'skip' || name === 'include')
  .flatMap(({ name, args }) => args.map(arg => ({ name, arg })));

/**
 * Draws operations with aliases, equal fields, fragments, directives, and variables that are sent, null or absent, with and
 * without defaults. Nearly all are valid. Outside the root of a mutation at most one field is refused when it runs: of two,
 * either may be the first to fail.
 */
export class OperationDraw {
  readonly #material: Material;
  readonly #random: () => number;
  readonly #kind: Kind;
  readonly #fragments = new Map<string, { type: GraphQLObjectType; text: string }>();
  readonly #definitions: string[] = [];
  readonly #variables: Record<string, unknown> = {};
  #names = 0;
  #refusals = 1;
  /** What is refused in a fragment would be refused wherever it is spread. */
  #isInFragment = false;

  constructor(material: Material, random: () => number, kind: Kind) {
    this.#material = material;
    this.#random = random;
    this.#kind = kind;
  }

  operation(): Operation {
    const { schema } = this.#material;
    const root = this.#kind === 'query' ? schema.getQueryType() : schema.getMutationType();
    const selections = this.#selections(root as GraphQLObjectType, 4);
    const fragments = [...this.#fragments].map(
      ([name, { type, text }]) => `fragment ${name} on ${type} ${text}`,
    );
    const variables = this.#definitions.length > 0 ? `(${this.#definitions.join(', ')})` : '';
    const query = [`${this.#kind} Drawn${variables} ${selections}`, ...fragments].join('\n');
    return { query, variables: this.#variables };
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
    // Without a text while it is drawn: it must not be spread in itself.
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
    return ` @${name}(if: ${this.#value(arg, type)})`;
  }

  /** A field with its arguments. With arguments its name is its own, because equal names need equal arguments. */
  #head(type: GraphQLObjectType, depth: number): Head {
    const names = this.#material.fields[type.name] ?? [];
    const known = Object.values(type.getFields()).filter(({ name }) => names.includes(name));
    const fields = [...known, TypeNameMetaFieldDef];
    const field = this.#oneOf(fields.filter(each => depth > 1 || !isObjectType(getNamedType(each.type))));
    const args = this.#drawn(field.args).map(arg => `${arg.name}: ${this.#value(arg, type)}`);
    const alias = args.length > 0 || this.#chance(0.2) ? `${this.#newName('a')}: ` : '';
    return { text: `${alias}${field.name}${args.length > 0 ? `(${args.join(', ')})` : ''}`, field };
  }

  #drawn<P extends Place>(places: readonly P[]): P[] {
    return places.filter(place => isRequired(place) || (this.#hasValue(place) && this.#chance(0.4)));
  }

  #hasValue({ name, type }: Place): boolean {
    const inner = getNullableType(type);
    return isEnumType(inner) || isInputObjectType(inner) || Object.hasOwn(this.#material.values, name);
  }

  #value(place: Place, type: GraphQLObjectType): string {
    const { name, type: wanted } = place;
    if (this.#chance(0.4)) return `$${this.#variable(place, type)}`;
    if (!isNonNullType(wanted) && this.#chance(0.1)) return 'null';
    const inner = getNullableType(wanted);
    if (!isInputObjectType(inner)) return toText(this.#plain(name, inner, type), inner);
    const members = this.#drawn(Object.values(inner.getFields()));
    return `{ ${members.map(member => `${member.name}: ${this.#value(member, type)}`).join(', ')} }`;
  }

  /** The name of a new variable. One that is nullable and has a default fits a required place, until it is null. */
  #variable(place: Place, type: GraphQLObjectType): string {
    const name = this.#newName('v');
    const inner = getNullableType(place.type);
    const value = () => this.#plain(place.name, inner, type);
    const hasDefault = this.#chance(0.4);
    const isStrict = (isRequired(place) && !hasDefault) || this.#chance(0.3);
    this.#definitions.push(
      `$${name}: ${inner}${isStrict ? '!' : ''}${hasDefault ? ` = ${toText(value(), inner)}` : ''}`,
    );
    const canBeNull = !isStrict && (!isNonNullType(place.type) || this.#mayRefuse(type));
    if (this.#chance(0.02)) this.#variables[name] = this.#oneOf([null, [[]], { no: 1 }]);
    else if (canBeNull && this.#chance(0.2)) this.#variables[name] = null;
    else if ((isStrict && !hasDefault) || this.#chance(0.6)) this.#variables[name] = value();
    return name;
  }

  #plain(name: string, inner: GraphQLInputType, type: GraphQLObjectType): unknown {
    if (isInputObjectType(inner)) {
      const members = this.#drawn(Object.values(inner.getFields()));
      return Object.fromEntries(
        members.map(member => [
          member.name,
          !isNonNullType(member.type) && this.#chance(0.1)
            ? null
            : this.#plain(member.name, getNullableType(member.type), type),
        ]),
      );
    }
    if (isEnumType(inner)) return this.#oneOf(inner.getValues()).value;
    const { values, refused } = this.#material;
    const isRefused = name in refused && this.#chance(0.15) && this.#mayRefuse(type);
    return this.#oneOf((isRefused ? refused : values)[name] ?? []);
  }

  #mayRefuse(type: GraphQLObjectType): boolean {
    if (type === this.#material.schema.getMutationType()) return true;
    return !this.#isInFragment && this.#refusals-- > 0;
  }
}

const isRequired = ({ type, defaultValue }: Place) => isNonNullType(type) && defaultValue === undefined;

function toText(value: unknown, type: GraphQLInputType): string {
  const node = astFromValue(value, type);
  if (!node) throw new Error(`${JSON.stringify(value)} is no ${type}`);
  return print(node);
}

/** The document without one of its tokens: most are not valid any more. */
export function withoutToken(query: string, random: () => number): string {
  const lexer = new Lexer(new Source(query));
  const tokens = [];
  while (lexer.advance().kind !== TokenKind.EOF) tokens.push(lexer.token);
  const { start, end } = tokens[Math.floor(random() * tokens.length)] ?? { start: 0, end: 0 };
  return query.slice(0, start) + query.slice(end);
}
