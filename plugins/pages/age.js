const units = /** @type {[number, number, string][]} */ ([
  [60, 1, 's'],
  [3600, 60, 'min'],
  [86_400, 3600, 'h'],
  [Number.POSITIVE_INFINITY, 86_400, 'd'],
]);
/** How long ago a time is, or how soon, in its largest unit. */
export function age(instant) {
  const seconds = Math.round((Date.parse(instant) - Date.now()) / 1000);
  const [, size, unit] = units.find(([below]) => Math.abs(seconds) < below) ?? units[3];
  if (Math.abs(seconds) < 5) return 'just now';
  const amount = `${Math.floor(Math.abs(seconds) / size)} ${unit}`;
  return seconds > 0 ? `in ${amount}` : `${amount} ago`;
}
