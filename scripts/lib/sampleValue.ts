import type { TSchema } from '@sinclair/typebox';
import { wholeText } from '#schemas/parts/common.ts';

/** A value of a member, which differs for each number as far as the schema allows. */
export function sampleValue(
  {
    type,
    format,
    pattern,
    enum: words,
    examples,
    minimum = 0,
    maximum = Infinity,
    maxLength = Infinity,
  }: TSchema,
  number: number,
): unknown {
  // The example differs from the default where a schema has both.
  if (words) return examples?.[0] ?? words[0];
  if (format === 'email') return `made${number}@example.com`;
  if (format === 'date-time') return new Date(Date.UTC(2026, 0, 1, 0, 0, number)).toISOString();
  if (format === 'date') return new Date(Date.UTC(2026, 0, number % 10_000)).toISOString().slice(0, 10);
  const kind = [type].flat();
  if (kind.includes('object')) return { number };
  if (kind.includes('integer') || kind.includes('number')) {
    const least = Math.max(minimum, 0);
    return least + (number % (Math.floor(maximum - least) + 1));
  }
  if (kind.includes('boolean')) return true;
  return pattern === wholeText ? `${examples[0]} ${number}`.slice(-maxLength) : examples[0];
}
