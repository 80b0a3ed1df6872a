import { type TSchema, Type } from '@sinclair/typebox';
import { boolean, text } from './common.ts';

/** A filter of a list: what it selects, and the operators that it has besides equality. */
export interface Filter {
  description: string;
  operators: ('in' | keyof typeof bounds | 'startsWith')[];
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

const bounds = {
  gt: 'Those above this value, or later.',
  gte: 'Those from this value on.',
  lt: 'Those below this value, or earlier.',
  lte: 'Those up to this value, with it.',
};

/** A bound, which may be beyond what the member can be. Clients that read JSON would round larger whole numbers. */
function boundFor({ minimum, maximum, ...member }: TSchema, description: string): TSchema {
  const safe = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
  const bound = only(member as TSchema, description);
  return bound.type === 'integer' ? { ...bound, ...safe } : bound;
}

/** The parameters of a filter: its name, and its name with each of its operators in brackets. */
export function filterParameters(name: string, member: TSchema, filter: string | Filter) {
  const { description, operators } =
    typeof filter === 'string' ? { description: filter, operators: [] } : filter;
  const parameters: Record<string, TSchema> = { [name]: only(member, description) };
  const add = (operator: string, schema: TSchema) =>
    (parameters[`${name}[${operator}]`] = Type.Optional(schema));
  for (const operator of operators)
    if (operator === 'in') add(operator, several(member));
    else if (operator === 'startsWith')
      add(operator, text(1, longestText, 'Those that begin with this text, compared exactly.', 'No'));
    else add(operator, boundFor(member, bounds[operator]));
  if ([member.type].flat().includes('null'))
    add('isNull', boolean('`true`: those without a value; `false`: those with one.'));
  return parameters;
}

/** The parameter of a list whose records are found by the words of these members. */
export const searchParameter = (members: string[]) =>
  Type.Optional({
    ...text(
      1,
      longestText,
      `Those with words that begin with these, in ${members.map(each => `\`${each}\``).join(' or ')}, regardless of case. A word is a run of letters and digits.`,
      'notes eng',
    ),
    pattern: `^${noWord}*${word}(${noWord}+${word}){0,9}${noWord}*$`,
    patternMessage: 'must have 1 to 10 words, which are letters and digits',
  });
const word = '[\\p{L}\\p{M}\\p{Nd}]+';
const noWord = '[^\\p{L}\\p{M}\\p{Nd}\\u0000\\ud800-\\udfff]';

/** The filter of a parameter such as `status[in]`. */
export const filterOf = (parameter: string) => parameter.replace(/\[\w+\]$/, '');

/** The name of a parameter in GraphQL: what is `status[in]` in REST is `statusIn` there. */
export const argumentName = (parameter: string) =>
  parameter.replace(/\[(\w)(\w+)\]/, (_, first: string, rest: string) => first.toUpperCase() + rest);
