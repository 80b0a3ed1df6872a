import { writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';

const standardOutput = 1;
/** Bytes that wait for a reader in memory. */
const mostWaiting = 16 * 1024 * 1024;
/** Lines that are written together once they had to wait. */
const mostTogether = 256;
/** Milliseconds. */
const [retryAfter, lastTries] = [10, 400];

/**
 * Standard output, for the log. A line is written at once, so that even a killed process has written its last one. But
 * callers decide how much is logged, so a reader that is slow must not stop the process: then lines wait in memory, and
 * those that find no room are dropped and counted.
 *
 * The asynchronous destination of pino cuts a line in two when the process exits while the reader is slow, and an exit
 * never ends while nobody reads.
 */
export class LogOutput implements DestinationStream {
  readonly #onDropped: (lines: number) => void;
  #waiting: Buffer[] = [];
  /** What is being written: the rest of a line, or some that had to wait. */
  #current: Buffer = Buffer.alloc(0);
  #size = 0;
  #dropped = 0;
  #retry: NodeJS.Timeout | undefined;

  /** `onDropped` is called once the reader has caught up. */
  constructor(onDropped: (lines: number) => void) {
    this.#onDropped = onDropped;
    // Opened by Node, a pipe or socket no longer blocks: a write to a full one fails.
    void process.stdout;
    process.on('exit', () => this.#flush());
  }

  write(line: string): void {
    if (this.#size > mostWaiting) {
      this.#dropped++;
      return;
    }
    const bytes = Buffer.from(line);
    this.#size += bytes.length;
    this.#waiting.push(bytes);
    if (this.#retry === undefined) this.#writeWaiting();
  }

  #writeWaiting(): void {
    this.#retry = undefined;
    while (this.#size > 0) {
      if (this.#current.length === 0) this.#current = Buffer.concat(this.#waiting.splice(0, mostTogether));
      const written = tryToWrite(this.#current);
      if (written === 0) {
        this.#retry = setTimeout(() => this.#writeWaiting(), retryAfter);
        return;
      }
      this.#current = this.#current.subarray(written);
      this.#size -= written;
    }
    if (this.#dropped === 0) return;
    const lines = this.#dropped;
    this.#dropped = 0;
    this.#onDropped(lines);
  }

  /** At the end of the process there are no timers any more, and a reader that is gone must not hold the end. */
  #flush(): void {
    const pause = new Int32Array(new SharedArrayBuffer(4));
    for (const end = performance.now() + lastTries; performance.now() < end; ) {
      this.#writeWaiting();
      if (this.#size === 0) return;
      Atomics.wait(pause, 0, 0, retryAfter);
    }
  }
}

/** How many of these bytes were written; 0 when it must be tried again later. */
function tryToWrite(bytes: Buffer): number {
  try {
    return writeSync(standardOutput, bytes);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // The reader is slow, or the disk is full. After any other error nobody will ever read it.
    return code === 'EAGAIN' || code === 'ENOSPC' ? 0 : bytes.length;
  }
}
