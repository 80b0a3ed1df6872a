interface Kept<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
}

/** The value of a key in a map, made when it is asked for the first time. */
export function keptIn<K, V>(map: Kept<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/**
 * The function that makes something when it is first asked for, once for all who ask. A failure is tried again, but a
 * module that threw while it was loaded fails until the process ends: Node keeps that.
 */
export function onFirstUse<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch(error => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

/** Sets the newest entry of a map used as a cache. When the map is full, the entry that was set first goes. */
export function setBounded<K, V>(map: Map<K, V>, key: K, value: V, maximum: number): void {
  map.delete(key);
  if (map.size >= maximum) map.delete(map.keys().next().value as K);
  map.set(key, value);
}

/** What an entry counts besides its length, in characters. */
export const overhead = 500;

/** The same for a cache of texts, or of what is made of them, which may be long: its bound is their sum. */
export function setBoundedText<V extends { length: number }>(
  map: Map<string, V>,
  key: string,
  value: V,
  maximum: number,
): void {
  const isNew = !map.delete(key);
  map.set(key, value);
  if (!isNew) return;
  let sum = 0;
  for (const [other, { length }] of [...map].reverse()) {
    sum += length + overhead;
    if (sum > maximum) map.delete(other);
  }
}
