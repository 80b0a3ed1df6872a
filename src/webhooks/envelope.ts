import { hash } from 'node:crypto';
import { longestShown } from '../../schemas/event.ts';
import { longestCustomer } from '../../schemas/subscription.ts';
import { truncate, truncateForColumn } from '../core/text.ts';

/** What the service reads of an event. Everything is optional: whatever a provider sends is kept. */
export interface Envelope {
  eventId: string | null;
  type: string | null;
  customer: string | null;
  /** Why a customer that is there cannot be used. */
  problem: string | null;
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

/** Reads an event. `sentId` is the id that the signature scheme itself carries, if it does. */
export function readEnvelope(value: unknown, body: Buffer, sentId?: string): Envelope {
  const id = sentId ?? asIdentifier(member(value, 'id'));
  const type = member(value, 'type');
  const given = member(member(member(value, 'data'), 'object'), 'customer');
  // An expanded object instead of its id.
  const customer = asIdentifier(given) ?? asIdentifier(member(given, 'id'));
  const problem = customer === undefined ? undefined : unusable(customer);
  return {
    eventId: id === undefined ? null : truncateForColumn(id, longestShown),
    type: typeof type === 'string' ? truncateForColumn(type, longestShown) : null,
    customer: customer === undefined || problem ? null : customer,
    problem: problem ?? null,
    // Marked, so that no id can be made to look like a body. UTF-8 would make all broken characters one.
    fingerprint: id === undefined ? digest('body\n', body) : digest('id\n', Buffer.from(id, 'utf16le')),
  };
}

const digest = (mark: string, bytes: Buffer) =>
  hash('sha256', Buffer.concat([Buffer.from(mark), bytes]), 'buffer');

function member(value: unknown, name: string): unknown {
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

/** Text or a whole number; a number too large to be exact would make two ids one. */
function asIdentifier(value: unknown): string | undefined {
  if (typeof value === 'string' && value !== '') return value;
  return Number.isSafeInteger(value) ? String(value) : undefined;
}

function unusable(customer: string): string | undefined {
  if (truncate(customer, longestCustomer) !== customer)
    return `the customer is longer than ${longestCustomer} characters`;
  if (customer.includes('\0') || !customer.isWellFormed())
    return 'the customer contains NUL or half of a surrogate pair';
  return undefined;
}
