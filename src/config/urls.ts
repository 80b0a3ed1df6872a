/** The entries of a comma-separated list. */
export const splitList = (text: string) =>
  text
    .trim()
    .split(/\s*,\s*/)
    .filter(Boolean);

/** Whether a text is an origin exactly as browsers send it: one with a trailing slash would never match. */
export const isOrigin = (text: string) =>
  /^https?:[^*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text;

/** Whether drivers can use a URL. With any other they would fail late, with the password in the message. */
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
