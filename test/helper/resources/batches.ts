import type { Caller } from './records.ts';

export const burrows = '/api/burrows';

/** The operation that creates a burrow. */
export const digging = (label: string, members = {}) => ({
  method: 'POST',
  path: burrows,
  body: { label, ...members },
});

/** Sends a batch, which must get this status. */
export const batch = (
  call: Caller,
  status: number,
  operations: unknown[],
  headers: Record<string, string> = {},
) => call('POST', '/api/batch', status, { body: { operations }, headers });
