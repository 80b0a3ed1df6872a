/** Only where somebody watches: nothing of this goes into a pipe, a file or the log of a pipeline. */
const isWatched = () => process.stderr.isTTY && !process.env.CI;

/** Says what takes a while, where nobody knows how long. */
export function announce(work: string): void {
  if (isWatched()) process.stderr.write(`${work} …\n`);
}

export interface Progress {
  /** How much is done. */
  reach(done: number): void;
  /** Prints a line above the bar. */
  print(line: string, write?: (line: string) => void): void;
}

/** Milliseconds. Drawing more often than people see would only cost. */
const redrawAfter = 100;
const eraseLine = '\r\x1b[K';

/** Does long work with a bar, which is erased when the work ends or fails. */
export async function withProgress<T>(
  total: number,
  unit: string,
  work: (progress: Progress) => Promise<T>,
): Promise<T> {
  const [watched, started] = [isWatched(), performance.now()];
  let [current, drawn] = [0, Number.NEGATIVE_INFINITY];
  const draw = () => {
    drawn = performance.now();
    if (watched) process.stderr.write(eraseLine + barOf(current, total, unit, drawn - started));
  };
  const erase = () => void (watched && process.stderr.write(eraseLine));
  try {
    draw();
    return await work({
      reach(done) {
        current = done;
        if (performance.now() - drawn >= redrawAfter) draw();
      },
      print(line, write = console.log) {
        erase();
        write(line);
        draw();
      },
    });
  } finally {
    erase();
  }
}

const width = 30;

/** The bar, the share, and how long the rest takes if it goes on like this. */
export function barOf(done: number, total: number, unit: string, elapsed: number): string {
  const part = total === 0 ? 1 : Math.min(1, done / total);
  const bar = '█'.repeat(part * width).padEnd(width, '░');
  const counts = `${done.toLocaleString('en')} of ${total.toLocaleString('en')} ${unit}`;
  // The first seconds say little.
  const left = elapsed > 2000 && part > 0 ? `, ${durationOf((elapsed / part) * (1 - part))} left` : '';
  return `${bar} ${String(Math.floor(part * 100)).padStart(3)} %  ${counts}${left}`;
}

const durationOf = (milliseconds: number) =>
  milliseconds < 90_000 ? `${Math.ceil(milliseconds / 1000)} s` : `${Math.round(milliseconds / 60_000)} min`;
