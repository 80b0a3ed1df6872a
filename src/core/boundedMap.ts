/** Sets the newest entry of a map used as a cache. When the map is full, the entry that was set first goes. */
export function setBounded<K, V>(map: Map<K, V>, key: K, value: V, maximum: number): void {
  map.delete(key);
  if (map.size >= maximum) map.delete(map.keys().next().value as K);
  map.set(key, value);
}
