/** Shows how far work is: a text and, if it is known, the share from 0 to 1 that is done. */
export type Report = (text: string, share?: number) => void;

const percent = (share: number) => `${Math.floor(share * 100)} %`;

/** Duration in words: seconds up to two minutes, then minutes. */
export const inWords = (seconds: number) =>
  seconds < 120 ? `${Math.floor(seconds)} s` : `${Math.floor(seconds / 60)} min`;

/** The end of a text about work that has done this share in so many milliseconds. A beginning says too little. */
export function timeLeft(share: number, milliseconds: number): string {
  if (share < 0.05 || share >= 1 || milliseconds < 3000) return '';
  const seconds = Math.ceil((milliseconds / share - milliseconds) / 1000);
  return `, about ${inWords(seconds)} left`;
}

/** One line of a terminal, with a bar if there is room: a line that wraps could not be replaced. */
export function terminalLine(text: string, share: number | undefined, columns: number): string {
  const words = share === undefined ? text : `${percent(share)}  ${text}`;
  const room = columns - 1;
  if (words.length > room) return `${words.slice(0, room - 1)}…`;
  const width = Math.min(20, room - words.length - 1);
  if (share === undefined || width < 5) return words;
  const done = Math.min(width, Math.floor(share * width));
  return `${'█'.repeat(done)}${'░'.repeat(width - done)} ${words}`;
}

/** Calls `show` with the seconds that the work takes so far: at once, and each second until it ends. */
export async function ticking<T>(show: (seconds: number) => void, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  show(0);
  const timer = setInterval(() => show(Math.floor((performance.now() - started) / 1000)), 1000);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/** Prints at most one text in ten seconds, and none in the first ten: short work says nothing. An empty one ends it. */
export function sparsely(print: Report, every = 10_000, now = () => performance.now()): Report {
  let last: number | undefined;
  return (text, share) => {
    last = text === '' ? undefined : (last ?? now());
    if (last === undefined || now() - last < every) return;
    last = now();
    print(text, share);
  };
}

interface Output {
  columns?: number;
  write(text: string): unknown;
}

/** Shows progress on a terminal in a line that the next call replaces, and elsewhere in a line now and then. */
export function reportOn(
  output: Output,
  isTerminal: boolean,
  ...pace: [every?: number, now?: () => number]
): Report {
  if (!isTerminal)
    return sparsely(
      (text, share) => output.write(share === undefined ? `${text}\n` : `${percent(share)}, ${text}\n`),
      ...pace,
    );
  let isShown = false;
  return (text, share) => {
    // The cursor goes back, so that a line of the log begins where this one does.
    if (text !== '') output.write(`\r\x1b[K${terminalLine(text, share, output.columns || 80)}\r`);
    else if (isShown) output.write('\r\x1b[K');
    isShown = text !== '';
  };
}
