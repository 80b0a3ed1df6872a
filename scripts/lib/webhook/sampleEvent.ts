import { existsSync, readFileSync } from 'node:fs';
import type { Source } from '#src/config/presets.ts';
import type { Provider } from '#src/config/providers.ts';
import { parseJson } from '#src/core/json.ts';
import { mergePatch } from '#src/core/mergePatch.ts';
import { handlers } from '#src/domain/handlers/index.ts';
import { member, readEnvelope } from '#src/webhooks/envelope.ts';
import { handlerFor } from '#src/webhooks/handler.ts';
import { sign } from '#src/webhooks/signature.ts';

export interface Wanted {
  type: string;
  id: string;
  customer?: string | undefined;
  /** The status of the subscription, in the words of the provider. */
  status?: string | undefined;
}

type Members = Record<string, unknown>;
interface Sample {
  body: Members;
  headers: Record<string, string>;
}

/** A signed request with an event of this type, as the provider sends it. */
export function sampleEvent(provider: Provider, { type, id, customer = 'cus_123', status }: Wanted) {
  const sample: Sample = { body: recordedBody(provider.preset, type), headers: {} };
  const handler = handlerFor(handlers, { preset: provider.preset, type, customer });
  const said = typeof handler === 'string' ? undefined : handler.status;
  writeAt(sample, provider.id, id);
  writeAt(sample, provider.type, type);
  writeAt(sample, provider.customer, customer);
  writeAt(sample, provider.time, new Date());
  // The type may name the status, as `subscription.paused` does, unless --status sets another one.
  const word = status ?? said?.words.find(word => [`.${word}`, `_${word}`].some(end => type.endsWith(end)));
  if (said && word !== undefined) writeAt(sample, said.path, word);
  return signed(provider, Buffer.from(JSON.stringify(sample.body, null, 2)), { id, headers: sample.headers });
}

/** A signed request with the bytes of a file, which may be no event at all. */
export function eventFromFile(provider: Provider, path: string, { type, id }: Wanted) {
  const sample: Sample = { body: {}, headers: {} };
  writeAt(sample, provider.id, id);
  writeAt(sample, provider.type, type);
  return signed(provider, readFileSync(path), { id, headers: sample.headers });
}

function signed(provider: Provider, body: Buffer, { id, headers }: Pick<Sample, 'headers'> & { id: string }) {
  const now = new Date();
  const all = { 'content-type': 'application/json', ...headers, ...sign(provider, body, { now, id }) };
  const { eventId, type, customer } = readEnvelope(provider, all, body, parseJson(body), now);
  return { body, headers: all, eventId, type, customer };
}

/**
 * The recorded body of the type, or of its family: `subscription.json` is for all types that begin with
 * `subscription`. The file of a type patches the body of its family.
 */
export function recordedBody(preset: string, type: string): Members {
  // The payments of Standard Webhooks are as Stripe's.
  for (const folder of [preset, 'stripe']) {
    const families = [...type.matchAll(/(?<=.)(?=[._/:])|$/g)].map(({ index }) => type.slice(0, index));
    const files = families
      .map(family => new URL(`bodies/${folder}/${family}.json`, import.meta.url))
      .filter(file => existsSync(file));
    if (files.length > 0)
      return files.map(file => JSON.parse(readFileSync(file, 'utf8'))).reduce(mergePatch) as Members;
  }
  return {};
}

/** Writes a value where the body has one, or else to the first path, in the form of the value that is there. */
function writeAt({ body, headers }: Sample, source: Source = [], value: string | Date): void {
  const paths = typeof source === 'string' ? [source] : source;
  const path = paths.find(path => path.split('.').reduce(member, body) !== undefined) ?? paths[0];
  if (path === undefined) return;
  const text = typeof value === 'string' ? value : value.toISOString();
  if (path.startsWith('header:')) {
    headers[path.slice('header:'.length)] = text;
    return;
  }
  const names = path.split('.');
  const last = names.pop() as string;
  const inner = names.reduce<Members>((outer, name) => {
    if (outer[name] === null || typeof outer[name] !== 'object') outer[name] = {};
    return outer[name] as Members;
  }, body);
  const isNumber = typeof inner[last] === 'number';
  inner[last] = isNumber && value instanceof Date ? Math.floor(value.getTime() / 1000) : text;
}
