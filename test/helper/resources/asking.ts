import { argumentName, filterOf } from '#schemas/parts/filters.ts';
import { any, below } from '#test/helper/values/random.ts';
import type { Specimen } from '#test/world/specimens.ts';

/** A parameter of the list of specimens, its value, and which specimens it selects. */
export interface Asked {
  name: string;
  value: string | number | boolean | string[];
  selects: (record: Specimen) => boolean;
}

/** Compares texts by code points, as an index in the collation "C" does. */
const byCodePoints = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

const syllables = 'no note Engine 1.5 a-b x_y ada@b.example Éclair ΟΔΟΣ οδοσεα हिन्दी'.split(' ');
const signs = '東京 ЖУК ٣٤ % _ \\ … \u{1f600} e\u0301 \u{10ffff} \ud7ff \ufeff ø'.split(' ');
/** A text of a few of these, of which two are far more frequent than the others. */
export const anyText = () =>
  Array.from({ length: 1 + below(4) }, () =>
    any(below(3) > 0 ? ['no', 'many'] : below(2) ? syllables : signs),
  ).join(any([' ', ' ', '', ', ', '/']));

/** The words of a text. Whether letters beyond ASCII have a lower case depends on the database. */
export function wordsIn(text: string, hasCases: boolean): string[] {
  const folded = text.replace(/[A-Z]/g, letter => letter.toLowerCase());
  const lower = hasCases ? folded.toLowerCase() : folded;
  return lower.replaceAll('ς', 'σ').match(/[\p{L}\p{M}\p{Nd}]+/gu) ?? [];
}

const compare = (a: unknown, b: unknown) =>
  typeof a === 'string' && typeof b === 'string' ? byCodePoints(a, b) : Number(a) - Number(b);
const bounds: Record<string, (order: number) => boolean> = {
  gt: order => order > 0,
  gte: order => order >= 0,
  lt: order => order < 0,
  lte: order => order <= 0,
};

/** Draws a parameter of a list of specimens. */
export function anyAsked(records: Specimen[], hasCases: boolean): Asked {
  const other = any(records);
  const known = (name: keyof Specimen) => any(records.filter(record => record[name] !== null))[name];
  const ranged = any(['bones', 'weight', 'cents', 'foundAt', 'foundOn'] as const);
  const operator = any(Object.keys(bounds));
  const text = any([other.label, anyText()]);
  const several = Array.from({ length: 1 + below(4) }, () => any(records).burrowId);
  const grades = Array.from({ length: 1 + below(3) }, () => any(['rough', 'fair', 'fine'] as const));
  const nullable = any(['weight', 'finder', 'foundAt', 'foundOn'] as const);
  const isNull = below(2) === 0;
  const beginning = Array.from(text)
    .slice(0, 1 + below(4))
    .join('');
  const asked = wordsIn(any([other.label, other.remark ?? 'no']), false);
  const words = Array.from({ length: 1 + below(2) }, () =>
    Array.from(any(asked.length > 0 ? asked : ['no']))
      .slice(0, 1 + below(4))
      .join(''),
  );
  const bound = known(ranged) as string | number;
  const isLight = below(2) === 0;
  const choices: Asked[] = [
    { name: 'grade', value: other.grade, selects: each => each.grade === other.grade },
    { name: 'grade[in]', value: grades, selects: each => grades.includes(each.grade) },
    { name: 'burrow', value: other.burrowId, selects: each => each.burrowId === other.burrowId },
    { name: 'burrow[in]', value: several, selects: each => several.includes(each.burrowId) },
    { name: 'label', value: text, selects: each => each.label === text },
    { name: 'label[startsWith]', value: beginning, selects: each => each.label.startsWith(beginning) },
    { name: 'isWet', value: other.isWet, selects: each => each.isWet === other.isWet },
    { name: ranged, value: bound, selects: each => each[ranged] === bound },
    {
      name: `${ranged}[${operator}]`,
      value: bound,
      selects: each => each[ranged] !== null && (bounds[operator]?.(compare(each[ranged], bound)) ?? false),
    },
    { name: `${nullable}[isNull]`, value: isNull, selects: each => (each[nullable] === null) === isNull },
    {
      name: 'isLight',
      value: isLight,
      selects: each => (each.weight !== null && each.weight < 10 * each.bones) === isLight,
    },
    {
      name: 'q',
      value: words.join(any([' ', ', ', '-'])),
      selects: each => {
        const found = wordsIn(`${each.label} ${each.remark ?? ''}`, hasCases);
        return words.every(word =>
          wordsIn(word, hasCases).every(part => found.some(one => one.startsWith(part))),
        );
      },
    },
  ];
  return any(choices);
}

/** The specimens that all of these select, in the order of a sort: null comes last in both directions. */
export function selected(records: Specimen[], asked: Asked[], sort: string): Specimen[] {
  const member = sort.replace('-', '') as keyof Specimen;
  const sign = sort.startsWith('-') ? -1 : 1;
  const keyOf = (record: Specimen) => {
    const value = record[member];
    return member === 'finder' && typeof value === 'string' ? value.toLowerCase() : value;
  };
  return records
    .filter(record => asked.every(({ selects }) => selects(record)))
    .toSorted((a, b) => {
      const [x, y] = [keyOf(a), keyOf(b)];
      if ((x === null) !== (y === null)) return x === null ? 1 : -1;
      return sign * ((x === null ? 0 : compare(x, y)) || compare(a.id, b.id));
    });
}

/** The same parameters as arguments of GraphQL. */
export const asArguments = (asked: Asked[]) =>
  asked.map(({ name, value }) => {
    const isEnum = filterOf(name) === 'grade';
    const literal = JSON.stringify(value);
    return `${argumentName(name)}: ${isEnum ? literal.replaceAll('"', '') : literal}`;
  });
