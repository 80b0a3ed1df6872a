/** The entries of a list with commas. */
export const splitList = (text: string) =>
  text
    .trim()
    .split(/\s*,\s*/)
    .filter(Boolean);

/** Compared as text with what browsers send: an origin with a trailing slash would never match. */
export const isOrigin = (text: string) =>
  /^https?:[^*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text;

/** Whether drivers can use a URL. They would fail late, with the password in the message. */
export function isUsableUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { host, username, password, pathname } = new URL(text);
  if (host.includes(',')) return false;
  try {
    for (const part of [username, password, pathname]) decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}

/** Plain HTTP is safe only within the machine. */
export const isSecureUrl = (text: string) =>
  !text.startsWith('http:') || /^http:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:|\/|$)/.test(text);
