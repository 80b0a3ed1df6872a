import type { Result } from './attack.ts';
import { memoryLimit } from './memory.ts';

/** The most that is allowed: milliseconds for 99% of honest requests, MiB of memory, and MiB of kept answers. */
const [slowest, mostMemory, mostKept] = [2000, 450, 16];

const quantile = (times: number[], part: number) =>
  times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0;

const counts = (of: Record<string, number>) =>
  Object.entries(of)
    .map(([what, times]) => `${what} ×${times}`)
    .join(', ') || 'nothing';

const sum = (of: Record<string, number>) => Object.values(of).reduce((total, each) => total + each, 0);

/** Returns a text for each promise that was not kept. */
export function failuresOf(result: Result): string[] {
  const { asked, times, failures, deliveries, changes, inactive, lived, peak, together, kept } = result;
  const memory = together ? memoryLimit : mostMemory;
  const promises: [boolean, string][] = [
    [lived, 'the process was ended'],
    [sum(failures) === 0, `${sum(failures)} of ${asked} honest requests failed`],
    [quantile(times, 0.99) <= slowest, `p99 was ${ms(quantile(times, 0.99))}`],
    [deliveries.refused === 0 && deliveries.accepted > 0, `${deliveries.refused} deliveries were refused`],
    [changes.unseen === 0, `${changes.unseen} changes were not seen`],
    [inactive === 0, `${inactive} customers are not active`],
    [peak <= memory, `${Math.round(peak)} MB of memory`],
    [kept <= mostKept, `${Math.round(kept)} MB of answers were kept`],
  ];
  return promises.filter(([isKept]) => !isKept).map(([, failure]) => failure);
}

const ms = (time: number) => `${Math.round(time).toLocaleString('en')} ms`;

export function lineOf(title: string, result: Result, failed: string[]): string {
  const { asked, times, failures, changes, deliveries, peak, got, ownDelay, lived } = result;
  const hostile = Object.entries(got).map(([name, of]) => `  ${name} got ${counts(of)}`);
  const [p50, p99, max] = [quantile(times, 0.5), quantile(times, 0.99), quantile(times, 1)].map(ms);
  return [
    `${failed.length === 0 ? 'ok    ' : 'FAILED'} ${title}: ${asked - sum(failures)} of ${asked} answered, p50 ${p50}, p99 ${p99}, max ${max}; ${changes.committed} changes; ${deliveries.accepted} deliveries; ${Math.round(peak)} MB, ${lived ? 'lived' : 'ENDED'}; own delay at most ${ms(ownDelay)}`,
    ...(sum(failures) > 0 ? [`  the honest ones got ${counts(failures)}`] : []),
    ...hostile,
    ...(failed.length > 0 ? [`  ${failed.join('; ')}`] : []),
  ].join('\n');
}
