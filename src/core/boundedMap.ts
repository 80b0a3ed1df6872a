/** Adds an entry to a map used as a cache. When the map is full, its oldest entry goes. */
export function setBounded<K, V>(map: Map<K, V>, key: K, value: V, maximum: number): void {
  if (map.size >= maximum && !map.has(key)) map.delete(map.keys().next().value as K);
  map.set(key, value);
}
