import {
  type Static,
  type TObject,
  type TOptional,
  type TProperties,
  type TSchema,
  type TUnsafe,
  Type,
} from '@sinclair/typebox';
import { readOnly, strict } from './common.ts';
import { argumentName, type Filter, filterParameters, searchParameter } from './filters.ts';
import { listParameters, listSchema } from './lists.ts';

/** A member that bodies may leave out. */
export const orDefault = <T extends TSchema>(member: T, value: Static<T>) =>
  Type.Unsafe<Static<T>>({ ...member, default: value }) as MayBeAbsent<Static<T>>;

/** A member that may be null, which it is when a body leaves it out. */
export const orNull = <T extends TSchema>(member: T) =>
  Type.Unsafe<Static<T> | null>({
    ...member,
    type: [member.type, 'null'].flat(),
    ...(member.enum && { enum: [...member.enum, null] }),
    default: null,
  }) as MayBeAbsent<Static<T> | null>;

type MayBeAbsent<T> = TUnsafe<T> & { default: T };
type Body<M extends TProperties> = {
  [K in keyof M]: M[K] extends { default: unknown } ? TOptional<M[K]> : M[K];
};

/** A filter has the name of its member, or that name without a final `Id`. */
type FilterName<Member extends string> = Member | (Member extends `${infer Name}Id` ? Name : never);

/**
 * What clients send and get of a resource, made from one list of its members. Its list can be sorted by `createdAt` and
 * by the `sorts`. Each of the `filters` has a description, such as "Only those with this name.", and compares the
 * member of that name, or of that name followed by `Id`; `anyOf`, `range` and `prefix` add operators. The list can be
 * searched by the words of the members in `search`. The service has the SQL of each of its `ownFilters`.
 */
export function contractOf<
  const N extends string,
  M extends TProperties,
  const S extends (keyof M & string) | 'updatedAt' = never,
  F extends FilterName<keyof M & string> = never,
  O extends string = never,
>(name: N, description: string, { members, sorts, filters, search = [], ownFilters }: Described<M, S, F, O>) {
  refuseTaken(`a member of ${name}`, members, readOnly, 'every record has one');
  refuseTaken(
    `a filter of ${name}`,
    { ...filters, ...ownFilters },
    inLists,
    'every list has a parameter of this name',
  );
  const noun = name.replace(/(?!^)[A-Z]/g, letter => ` ${letter}`).toLowerCase();
  const stored = withEach(members, ({ default: _, ...member }) => member as TSchema) as M;
  const body = withEach(members, inBody) as Body<M>;
  const { id, ...rest } = readOnly;
  const record = strict({ id, ...stored, ...rest }, { $id: name, description });
  const sortedBy: ('createdAt' | S)[] = ['createdAt', ...sorts];
  const parametersOf = ([by, filter]: [string, string | Filter]) => {
    const member = stored[by] ?? stored[`${by}Id`];
    if (!member) throw new Error(`${name} has no member for the filter "${by}".`);
    return Object.entries(filterParameters(by, member, filter));
  };
  const selection = {
    ...Object.fromEntries(Object.entries<string | Filter>(filters).flatMap(parametersOf)),
    ...withEach({ ...ownFilters } as Record<O, TSchema>, schema => Type.Optional(schema)),
    ...(search.length > 0 && { q: searchParameter(search) }),
  };
  // PostgreSQL keeps the words of a record in at most a megabyte, and refuses to write more.
  const longest = search.reduce(
    (sum, each) => sum + (stored[each]?.maxLength ?? Number.POSITIVE_INFINITY),
    0,
  );
  if (longest > 200_000) throw new Error(`What is searched of ${name} must have at most 200,000 characters.`);
  const names = Object.keys(selection).map(argumentName);
  const twice = names.find((each, i) => names.indexOf(each) < i);
  if (twice) throw new Error(`Two filters of ${name} are called '${twice}' in GraphQL.`);
  return {
    name,
    record,
    create: strict(body, { $id: `${name}Create`, description: `A new ${noun}.` }),
    replace: strict(
      { ...body, ...Type.Partial(Type.Object(readOnly)).properties },
      { $id: `${name}Replace`, description: `A complete ${noun}. The response of a GET is accepted.` },
    ),
    // The members have no defaults, which would overwrite what the patch leaves out.
    update: strict(Type.Partial(Type.Object({ ...stored, ...readOnly })).properties, {
      $id: `${name}Update`,
      description: 'A merge patch (RFC 7396): members that are absent stay as they are.',
    }),
    query: strict({ ...listParameters(sortedBy), ...selection }),
    list: listSchema(record as TObject, `${name}List`),
    sorts: sortedBy,
    filters: Object.keys(filters) as F[],
    ownFilters: Object.keys({ ...ownFilters }) as O[],
    search: search as string[],
  };
}

interface Described<M, S, F extends string, O extends string> {
  members: M;
  sorts: S[];
  filters: Record<F, string | Filter>;
  search?: (keyof M & string)[];
  ownFilters?: Record<O, TSchema>;
}

/** The names of the parameters of lists; only GraphQL has `first` and `last`. */
const inLists = { ...listParameters([]), q: true, first: true, last: true };

/** Refuses names that mean something else in the same place: one would silently take the place of the other. */
function refuseTaken(what: string, names: object, taken: object, reason: string): void {
  const found = Object.keys(names).find(name => Object.hasOwn(taken, name));
  if (found) throw new Error(`'${found}' cannot be ${what}: ${reason}.`);
}

const withEach = <K extends string, V, T>(object: Record<K, V>, change: (value: V, name: K) => T) =>
  Object.fromEntries(
    Object.entries<V>(object).map(([name, value]) => [name, change(value, name as K)]),
  ) as Record<K, T>;

function inBody(member: TSchema): TSchema {
  if (!('default' in member)) return member;
  const value = typeof member.default === 'string' ? member.default : JSON.stringify(member.default);
  const description = `${member.description?.replace(/\.$/, '')}; \`${value}\` when absent.`;
  return Type.Optional({ ...member, description } as TSchema);
}

/** The required members of a body, with their examples. */
export const requiredExamples = ({ properties, required = [] }: TObject) =>
  Object.fromEntries(required.map(name => [name, properties[name]?.examples?.[0]]));

/**
 * The most records of one relation that are deleted with a parent. One transaction deletes that many in a fraction of
 * the request timeout.
 */
export const maxCascade = 10_000;

export const Removal = strict({
  cascade: Type.Boolean({
    default: false,
    description: `Also delete what belongs to the record, up to ${maxCascade.toLocaleString('en')} records of each relation. Without it, a record that others belong to may be a 409.`,
  }),
});
export type Removal = Static<typeof Removal>;
