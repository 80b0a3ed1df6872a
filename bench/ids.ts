import { randomUUID } from 'node:crypto';

/** Makes ids in time order, as the service does: random ones would be scattered over the index. */
export function newId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
