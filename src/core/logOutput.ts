import { writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';

const standardOutput = 1;
/** Bytes kept in memory for a slow reader. */
const maxWaiting = 16 * 1024 * 1024;
const maxLinesPerWrite = 256;
/** Milliseconds. */
const retryInterval = 10;
const exitTimeout = 400;

/**
 * Standard output for the log. Each line is written at once, so that a killed process has logged its last one. When the
 * reader is slow, lines wait in memory up to a limit and are then dropped: much logging must not stop the process. pino's
 * own asynchronous destination cuts a line when the process exits meanwhile, and blocks the exit without a reader.
 */
export class LogOutput implements DestinationStream {
  readonly #onDropped: (lines: number) => void;
  #waiting: Buffer[] = [];
  /** The rest of what is being written. */
  #current: Buffer = Buffer.alloc(0);
  #size = 0;
  #dropped = 0;
  #retry: NodeJS.Timeout | undefined;

  /** Calls `onDropped` once the reader has caught up. */
  constructor(onDropped: (lines: number) => void) {
    this.#onDropped = onDropped;
    // Once Node has opened it, a pipe or socket no longer blocks: writing to a full one fails.
    void process.stdout;
    process.on('exit', () => this.#flush());
  }

  write(line: string): void {
    if (this.#size > maxWaiting) {
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
      if (this.#current.length === 0)
        this.#current = Buffer.concat(this.#waiting.splice(0, maxLinesPerWrite));
      const written = tryToWrite(this.#current);
      if (written === 0) {
        this.#retry = setTimeout(() => this.#writeWaiting(), retryInterval);
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

  /** Timers no longer fire while the process exits, so this waits by blocking, but not for ever. */
  #flush(): void {
    const pause = new Int32Array(new SharedArrayBuffer(4));
    const end = performance.now() + exitTimeout;
    while (performance.now() < end) {
      this.#writeWaiting();
      if (this.#size === 0) return;
      Atomics.wait(pause, 0, 0, retryInterval);
    }
  }
}

/** How many bytes were written; 0 to try again later. */
function tryToWrite(bytes: Buffer): number {
  try {
    return writeSync(standardOutput, bytes);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // The reader is slow, or the disk is full. After any other error nobody will ever read the rest.
    return code === 'EAGAIN' || code === 'ENOSPC' ? 0 : bytes.length;
  }
}
