const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * A JSON value after a merge patch (RFC 7396): objects are merged, null removes a member, and anything else replaces
 * the value.
 */
export function mergePatch(value: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(Object.entries(isObject(value) ? value : {}));
  for (const [name, part] of Object.entries(patch))
    if (part === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), part));
  return Object.fromEntries(merged);
}
