import { type TSchema, Type } from '@sinclair/typebox';
import { boolean, text } from './common.ts';

/** A filter of a list: what it selects, and the operators that it has besides equality. */
export interface Filter {
  description: string;
  operators: (keyof typeof operators)[];
}

/** A filter by words of an enum or by ids, of which several can be given. */
export const anyOf = (description: string): Filter => ({ description, operators: ['in'] });
/** A filter by numbers, times or dates, which can be compared. */
export const range = (description: string): Filter => ({
  description,
  operators: ['gt', 'gte', 'lt', 'lte'],
});
/** A filter by a text with an index, whose beginning can be given. */
export const prefix = (description: string): Filter => ({ description, operators: ['startsWith'] });

/** The most values of a list, and the most characters of a text. */
const [mostValues, longestText] = [100, 200];

/** A filter by a member of the records. Null is no value of a filter. */
export function only<T extends TSchema>(member: T, description: string) {
  const notNull = (value: unknown) => value !== 'null' && value !== null;
  const { type, enum: words } = member;
  return Type.Optional({
    ...member,
    ...(Array.isArray(type) && { type: type.find(notNull) }),
    ...(words && { enum: words.filter(notNull) }),
    description,
  } as T);
}

/** The parameter `<filter>[in]`: values with commas between them, in GraphQL a list. */
export function several<T extends TSchema>(member: T) {
  const { description: _, examples: __, ...value } = only(member, '');
  const description = `Those with any of these values, at most ${mostValues}.`;
  return Type.Optional(Type.Array(value as object as T, { minItems: 1, maxItems: mostValues, description }));
}

/** A bound, which may be beyond what the member can be. Clients that read JSON would round larger whole numbers. */
const bound = (description: string) => (member: TSchema) => {
  const { minimum, maximum, ...rest } = member;
  const safe = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
  return only({ ...rest, ...([member.type].flat().includes('integer') && safe) } as TSchema, description);
};

/** The schemas of the operators of a filter by a member. */
const operators = {
  in: several,
  gt: bound('Those above this value, or later.'),
  gte: bound('Those from this value on.'),
  lt: bound('Those below this value, or earlier.'),
  lte: bound('Those up to this value, with it.'),
  startsWith: () => text(1, longestText, 'Those that begin with this text, compared exactly.', 'No'),
  isNull: () => boolean('`true`: those without a value; `false`: those with one.'),
};

/** The parameters of a filter: its name, and its name with each of its operators in brackets. */
export function filterParameters(name: string, member: TSchema, filter: string | Filter) {
  const { description, operators: own } =
    typeof filter === 'string' ? { description: filter, operators: [] } : filter;
  const mayBeNull = [member.type].flat().includes('null');
  const parameters: Record<string, TSchema> = { [name]: only(member, description) };
  for (const operator of [...own, ...(mayBeNull ? ['isNull' as const] : [])])
    parameters[`${name}[${operator}]`] = Type.Optional(operators[operator](member));
  return parameters;
}

/** The parameter of a list whose records are found by the words of these members. */
export function searchParameter(members: string[]) {
  const names = members.map(each => `\`${each}\``).join(' or ');
  const description = `Those with words that begin with each of these 1 to 10 words, in ${names}, regardless of case. A word is a run of letters and digits.`;
  return Type.Optional({ ...text(1, longestText, description, 'notes eng'), format: words });
}
/** The format of a text with words. A pattern for it would fail in the page at /docs, which knows no letters but ASCII. */
export const words = 'words';

/** The filter of a parameter such as `status[in]`. */
export const filterOf = (parameter: string) => parameter.split('[', 1)[0] as string;

/** The name of a parameter in GraphQL: what is `status[in]` in REST is `statusIn` there. */
export const argumentName = (parameter: string) =>
  parameter.replace(/\[(\w)(\w+)\]/, (_, first: string, rest: string) => first.toUpperCase() + rest);
