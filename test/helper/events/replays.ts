interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** Returns the header of a request that takes effect once. */
export const keyed = (key: string) => ({ 'Idempotency-Key': key });

/** Whether this is the answer to an earlier request with the key. */
export const isReplayed = ({ headers }: Answer) => headers['idempotency-replayed'] === 'true';

/** Returns what must be the same in every answer to a request with a key. */
export const essence = ({ status, headers: { location, etag }, text }: Answer) => ({
  status,
  location,
  etag,
  text,
});
