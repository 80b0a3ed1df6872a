import { hash } from 'node:crypto';
import { longestShown } from '../../schemas/event.ts';
import { longestCustomer } from '../../schemas/subscription.ts';
import type { Preset, Source } from '../config/presets.ts';
import { truncate, truncateForColumn } from '../core/text.ts';
import type { Headers } from './signature.ts';

/** What the service reads of an event. All of it may be missing: every event is stored. */
interface Envelope {
  eventId: string | null;
  type: string | null;
  customer: string | null;
  /** Why the customer of the event cannot be used. */
  problem: string | null;
  /** When it happened, as the provider says. */
  occurredAt: string | null;
  /** Identifies the event, because the columns are truncated. */
  fingerprint: Buffer;
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** The parsed body; undefined when it is not JSON in UTF-8. */
export function parseBody(body: Buffer): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(decoder.decode(body)) };
  } catch {
    return undefined;
  }
}

/** Seconds by which the clock of a provider may be ahead. A time later than that would keep out all later events. */
const mostAhead = 300;
/** A time before it, such as 0, is a mistake: an event with it would never have an effect. */
const earliest = Date.UTC(2000);

/** Reads an event as its provider sends it. */
export function readEnvelope(
  preset: Preset,
  headers: Headers,
  body: Buffer,
  value: unknown,
  now: Date,
): Envelope {
  const read = <T>(source: Source | undefined, as: (value: unknown) => T | undefined) =>
    firstOf(source, each => as(valueAt(each, headers, value)));
  const id = read(preset.id, asIdentifier);
  const type = read(preset.type, asText);
  // Providers may expand the id into the whole customer.
  const customer = read(preset.customer, value => asIdentifier(value) ?? asIdentifier(member(value, 'id')));
  const problem = customer === undefined ? null : problemOf(customer);
  return {
    eventId: id === undefined ? null : truncateForColumn(id, longestShown),
    type: type === undefined ? null : truncateForColumn(type, longestShown),
    customer: customer === undefined || problem ? null : customer,
    problem,
    occurredAt: read(preset.time, value => asTime(value, now.getTime() + mostAhead * 1000)) ?? null,
    fingerprint: id === undefined ? digest('body\n', body) : fingerprintOf(id),
  };
}

/** Prefixed, or an id could pose as a body. In UTF-16, because UTF-8 would make all lone surrogates equal. */
export const fingerprintOf = (id: string) => digest('id\n', Buffer.from(id, 'utf16le'));

const digest = (prefix: string, bytes: Buffer) =>
  hash('sha256', Buffer.concat([Buffer.from(prefix), bytes]), 'buffer');

export function firstOf<T>(
  source: Source | undefined,
  read: (source: string) => T | undefined,
): T | undefined {
  for (const each of typeof source === 'string' ? [source] : (source ?? [])) {
    const found = read(each);
    if (found !== undefined) return found;
  }
  return undefined;
}

export function valueAt(source: string, headers: Headers, body: unknown): unknown {
  if (source.startsWith('header:')) return headers[source.slice('header:'.length)];
  return source.split('.').reduce(member, body);
}

export function member(value: unknown, name: string): unknown {
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

/** Text or an integer. Inexact large numbers would make two ids one. */
export function asIdentifier(value: unknown): string | undefined {
  if (typeof value === 'string' && value !== '') return value;
  return Number.isSafeInteger(value) ? String(value) : undefined;
}

const asText = (value: unknown) => (typeof value === 'string' ? value : undefined);

/** RFC 3339. Without a zone, servers in different ones would read different times. */
const isInstant = /^\d{4}-\d\d-\d\dT\d\d:\d\d.*(Z|[+-]\d\d:\d\d)$/i;

/** From seconds or milliseconds since 1970, as a number or as text, or from RFC 3339. */
export function asTime(value: unknown, latest: number): string | undefined {
  // The conversion of anything else may throw.
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  const count = /^\d{1,13}(\.\d+)?$/.test(text) ? Number(text) : undefined;
  const time =
    count === undefined ? Date.parse(isInstant.test(text) ? text : '') : count < 1e11 ? count * 1000 : count;
  return time >= earliest && time <= latest ? new Date(time).toISOString() : undefined;
}

function problemOf(customer: string): string | null {
  if (truncate(customer, longestCustomer) !== customer)
    return `The customer is longer than ${longestCustomer} characters.`;
  if (customer.includes('\0') || !customer.isWellFormed())
    return 'The customer contains NUL or half of a surrogate pair.';
  return null;
}
