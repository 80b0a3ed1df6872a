import { isUtf8 } from 'node:buffer';

const byteOrderMark = '\ufeff';

/** The value in these bytes; undefined when they are not JSON in UTF-8. `__proto__` stays a member. */
export function parseJson(bytes: Buffer): unknown {
  // Decoding would put replacement characters in the place of invalid bytes.
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString('utf8');
  try {
    return JSON.parse(text.startsWith(byteOrderMark) ? text.slice(1) : text);
  } catch {
    return undefined;
  }
}
