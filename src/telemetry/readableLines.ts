import { styleText } from 'node:util';
import type { DestinationStream } from 'pino';
import { printable, printableJson, printableLines } from '#src/core/text.ts';

type Style = Parameters<typeof styleText>[0];
/** Colours a text, unless NO_COLOR is set. */
const paint = (style: Style, text: string | number) =>
  styleText(style, String(text), { stream: process.stdout });

/** Lines for people at a terminal: one for each request and message, with the stack of an error below. */
export const readableLines = (destination: DestinationStream): DestinationStream => ({
  write: line => destination.write(`${readable(JSON.parse(line))}\n`),
});

/** An error as the log has it. */
export interface Failure {
  type?: string;
  message: string;
  stack?: string;
  cause?: Failure;
}
interface Request {
  method: string;
  path: string;
  status: number;
  ms: number;
}
type Entry = { time: number; level: number; msg?: string; err?: Failure } & Record<string, unknown>;

const labels: Record<number, [Style, string]> = {
  10: ['dim', 'trace'],
  20: ['dim', 'debug'],
  40: ['yellow', 'WARN'],
  50: ['red', 'ERROR'],
  60: ['red', 'FATAL'],
};

function readable({ time, level, msg = '', err, pid, hostname, ...fields }: Entry): string {
  const clock = paint('dim', new Date(time).toTimeString().slice(0, 8));
  if ('ms' in fields) return `${clock} ${requestLine(fields as unknown as Request, msg)}`;
  const label = labels[level];
  const more = Object.keys(fields).length > 0 && paint('dim', printableJson(JSON.stringify(fields)));
  const words = [clock, label && paint(...label), printable(msg), more].filter(Boolean).join(' ');
  return words + (err ? `\n${paint('dim', traceOf(err))}` : '');
}

function requestLine({ method, path, status, ms }: Request, msg: string): string {
  const shown = paint(status >= 500 ? 'red' : status >= 400 ? 'yellow' : 'green', status);
  const note = msg === 'answered' ? '' : paint('yellow', ` ${msg}`);
  return `${method.padEnd(6)} ${printable(path)} ${shown} ${paint('dim', `${ms} ms`)}${note}`;
}

/** The stack of an error, and those of its causes. */
export const traceOf = ({ message, stack = message, cause }: Failure): string =>
  printableLines(stack) + (cause ? `\ncaused by\n${traceOf(cause)}` : '');
