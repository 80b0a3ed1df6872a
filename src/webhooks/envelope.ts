import { hash } from 'node:crypto';
import { longestShown } from '../../schemas/event.ts';
import { longestCustomer } from '../../schemas/subscription.ts';
import { truncate, truncateForColumn } from '../core/text.ts';

/** What the service reads of an event. All of it may be missing: every event is stored. */
export interface Envelope {
  eventId: string | null;
  type: string | null;
  customer: string | null;
  /** Why the customer of the event cannot be used. */
  problem: string | null;
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

/** Reads an event. `sentId` is the id from the headers, where the signature scheme has one. */
export function readEnvelope(value: unknown, body: Buffer, sentId?: string): Envelope {
  const id = sentId ?? asIdentifier(member(value, 'id'));
  const type = member(value, 'type');
  const given = member(member(member(value, 'data'), 'object'), 'customer');
  // Providers may expand the id into the whole customer.
  const customer = asIdentifier(given) ?? asIdentifier(member(given, 'id'));
  const problem = customer === undefined ? null : problemOf(customer);
  return {
    eventId: id === undefined ? null : truncateForColumn(id, longestShown),
    type: typeof type === 'string' ? truncateForColumn(type, longestShown) : null,
    customer: customer === undefined || problem ? null : customer,
    problem,
    // Prefixed, or an id could pose as a body. In UTF-16, because UTF-8 would make all lone surrogates equal.
    fingerprint: id === undefined ? digest('body\n', body) : digest('id\n', Buffer.from(id, 'utf16le')),
  };
}

const digest = (prefix: string, bytes: Buffer) =>
  hash('sha256', Buffer.concat([Buffer.from(prefix), bytes]), 'buffer');

function member(value: unknown, name: string): unknown {
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

/** Text or an integer. Inexact large numbers would make two ids one. */
function asIdentifier(value: unknown): string | undefined {
  if (typeof value === 'string' && value !== '') return value;
  return Number.isSafeInteger(value) ? String(value) : undefined;
}

function problemOf(customer: string): string | null {
  if (truncate(customer, longestCustomer) !== customer)
    return `the customer is longer than ${longestCustomer} characters`;
  if (customer.includes('\0') || !customer.isWellFormed())
    return 'the customer contains NUL or half of a surrogate pair';
  return null;
}
