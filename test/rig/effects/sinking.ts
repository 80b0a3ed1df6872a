import type { Effect } from '#src/effects/effect.ts';

const { SINK_URL = '', SINK_EFFECTS = '' } = process.env;

/** Tells a sink of each change whose name is in SINK_EFFECTS. */
const tell: Effect = async ({ id, version, resource, action }, { key, signal }) => {
  const body = JSON.stringify({ id, version, name: `${resource}.${action}` });
  const headers = { 'idempotency-key': key, 'x-worker': String(process.pid) };
  const { status } = await fetch(SINK_URL, { method: 'POST', body, headers, signal });
  if (status !== 200) throw new Error(`The sink answered ${status}.`);
};

export const effects = Object.fromEntries(SINK_EFFECTS.split(',').map(name => [name, tell]));
