import { hash } from 'node:crypto';
import { longestCustomer } from '#schemas/service/subscription.ts';
import { longestShown } from '#schemas/service/webhookEvent.ts';
import type { Preset, Source } from '#src/config/presets.ts';
import { fits, truncateForColumn } from '#src/core/text.ts';
import type { Headers } from './signature.ts';

/** Seconds by which the clock of a provider may be ahead. An event further ahead would supersede later ones. */
const mostAhead = 300;
/** An earlier time, such as 0, is a mistake: an event with it would never have an effect. */
const earliest = Date.UTC(2000);

/** What the service reads of an event, as its provider sends it. Any of it may be missing: every event is stored. */
export function readEnvelope(preset: Preset, headers: Headers, body: Buffer, value: unknown, now: Date) {
  const read = sourceReader(headers, value);
  const id = read(preset.id, asIdentifier);
  const customer = read(preset.customer, asReference);
  const latest = now.getTime() + mostAhead * 1000;
  return {
    eventId: shown(id),
    type: shown(read(preset.type, asText)),
    customer: customer !== undefined && fits(customer, longestCustomer) ? customer : null,
    /** When it happened, as the provider says. */
    occurredAt: read(preset.time, value => asTime(value, latest)) ?? null,
    /** Identifies the event. `eventId` does not, because it is truncated. */
    fingerprint: id === undefined ? digest(marks.body, body) : fingerprintOf(id),
  };
}

/** The text as a column stores it. */
export const shown = (text: string | undefined) =>
  text === undefined ? null : truncateForColumn(text, longestShown);

/** They keep an id from posing as a body. */
const marks = { id: Buffer.from('id\n'), body: Buffer.from('body\n') };

/** UTF-8 would make all lone surrogates equal; UTF-16 does not. */
export const fingerprintOf = (id: string) => digest(marks.id, Buffer.from(id, 'utf16le'));

const digest = (mark: Buffer, bytes: Buffer) => `\\x${hash('sha256', Buffer.concat([mark, bytes]))}`;

/** A function that reads the first of several sources that has what is wanted. */
export const sourceReader =
  (headers: Headers, body: unknown) =>
  <T>(sources: Source | undefined, as: (value: unknown) => T | undefined): T | undefined => {
    for (const source of typeof sources === 'string' ? [sources] : (sources ?? [])) {
      const isHeader = source.startsWith('header:');
      const found = as(
        isHeader ? headers[source.slice('header:'.length)] : source.split('.').reduce(member, body),
      );
      if (found !== undefined) return found;
    }
    return undefined;
  };

export function member(value: unknown, name: string): unknown {
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

/** Text or an integer. Inexact large numbers would make two ids one. */
function asIdentifier(value: unknown): string | undefined {
  if (typeof value === 'string' && value !== '') return value;
  return Number.isSafeInteger(value) ? String(value) : undefined;
}

/** Providers may expand an id into the whole record. */
export const asReference = (value: unknown) => asIdentifier(value) ?? asIdentifier(member(value, 'id'));

const asText = (value: unknown) => (typeof value === 'string' ? value : undefined);

/** RFC 3339. A zone is required: servers in different zones would read different times without it. */
const isInstant = /^\d{4}-\d\d-\d\dT\d\d:\d\d.*(Z|[+-]\d\d:\d\d)$/i;

/** Reads seconds or milliseconds since 1970, as a number or as text, or a time in RFC 3339. */
export function asTime(value: unknown, latest: number): string | undefined {
  // `String` may throw for anything else.
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  const count = /^\d{1,13}(\.\d+)?$/.test(text) ? Number(text) : undefined;
  const time =
    count === undefined ? Date.parse(isInstant.test(text) ? text : '') : count < 1e11 ? count * 1000 : count;
  return time >= earliest && time <= latest ? new Date(time).toISOString() : undefined;
}
