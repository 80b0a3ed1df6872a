interface Kept<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
}

/** The value of a key in a map, made when it is first asked for. */
export function keptIn<K, V>(map: Kept<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/**
 * Returns a function whose first call makes a value, which all calls get. A call after a failure tries again, but a
 * module that threw while it was loaded fails until the process ends: Node keeps its error.
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

/** The characters counted for each entry in addition to its length. */
export const overhead = 500;

/** `setBounded` for a cache of long texts, or what is made from them: `maximum` bounds the sum of their lengths. */
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
