import { type DestinationStream, pino } from 'pino';

/** Bytes kept in memory for a slow reader. */
const maxWaiting = 16 * 1024 * 1024;
/** The most characters that wait for the end of a turn. */
const maxTogether = 16 * 1024;
/** Milliseconds between attempts to write to a slow reader, and milliseconds that an exit waits for one. */
const retryInterval = 10;
const exitTimeout = 400;

/**
 * Standard output for the log. The lines of one turn of the event loop are written together at its end, so a killed
 * process has logged all earlier turns. When the reader is slow, lines wait in memory up to a limit and are then
 * dropped: much logging must not stop the process, nor delay its exit. `onDropped` gets their number once the reader
 * has caught up.
 */
export function openLogOutput(onDropped: (lines: number) => void): DestinationStream {
  // Makes Node open standard output: a pipe or socket then no longer blocks, and writing to a full one fails.
  void process.stdout;
  const retryEAGAIN = () => false;
  const output = pino.destination({ dest: 1, sync: true, maxLength: maxWaiting, retryEAGAIN });
  let dropped = 0;
  /** The lines of this turn. */
  let lines = '';
  let isGone = false;
  /** Set while lines wait. */
  let retry: NodeJS.Timeout | undefined;

  function writeLines(): void {
    if (!isGone) output.write(lines);
    lines = '';
  }
  function writeRest(): void {
    retry = undefined;
    output.write('');
    if (retry !== undefined || dropped === 0) return;
    const count = dropped;
    dropped = 0;
    onDropped(count);
  }
  output.on('drop', (text: string) => {
    dropped += text.split('\n').length - 1;
  });
  output.on('error', ({ code }: NodeJS.ErrnoException) => {
    // The reader is slow, or the disk is full. After any other error nobody will ever read the rest.
    isGone = code !== 'EAGAIN' && code !== 'ENOSPC';
    if (!isGone) retry ??= setTimeout(writeRest, retryInterval);
  });
  process.on('exit', () => {
    writeLines();
    // Timers no longer fire, so this waits by blocking, but not for ever.
    const pause = new Int32Array(new SharedArrayBuffer(4));
    for (const end = performance.now() + exitTimeout; retry && performance.now() < end; writeRest())
      Atomics.wait(pause, 0, 0, retryInterval);
  });
  return {
    write(line) {
      if (lines === '') setImmediate(writeLines);
      lines += line;
      if (lines.length > maxTogether) writeLines();
    },
  };
}
