import { inspect, styleText } from 'node:util';
import type { DestinationStream } from 'pino';
import { printable, printableLines } from './text.ts';

type Style = Parameters<typeof styleText>[0];
/** Without colours where NO_COLOR is set. */
const paint = (style: Style, text: string) => styleText(style, text, { stream: process.stdout });

/** For people at a terminal: one line for each request and message; an error has its stack below. */
export const readableLines = (destination: DestinationStream): DestinationStream => ({
  write: line => destination.write(`${readable(JSON.parse(line))}\n`),
});

interface Entry {
  time: number;
  level: number;
  msg?: string;
  [field: string]: unknown;
}

function readable({ time, level, msg = '', pid, hostname, ...fields }: Entry): string {
  const clock = paint('dim', new Date(time).toTimeString().slice(0, 8));
  if (isRequest(fields)) return `${clock} ${requestLine(fields, msg)}`;
  const { err, ...rest } = fields;
  const more = Object.keys(rest).length > 0 && inspect(rest, { breakLength: Number.POSITIVE_INFINITY });
  const words = [labelOf(level), printable(msg), more && paint('dim', printableLines(more))]
    .filter(Boolean)
    .join(' ');
  return `${clock} ${words}${err ? stackOf(err as Failure) : ''}`;
}

function labelOf(level: number): string {
  if (level >= 50) return paint('red', level >= 60 ? 'FATAL' : 'ERROR');
  if (level >= 40) return paint('yellow', 'WARN');
  return level >= 30 ? '' : paint('dim', 'debug');
}

interface Request {
  method: string;
  path: string;
  status: number;
  ms: number;
}

const isRequest = (fields: object): fields is Request =>
  'method' in fields && 'status' in fields && 'ms' in fields;

function requestLine({ method, path, status, ms }: Request, msg: string): string {
  const shown = paint(status >= 500 ? 'red' : status >= 400 ? 'yellow' : 'green', String(status));
  const note = msg === 'answered' ? '' : paint('yellow', ` ${msg}`);
  return `${method.padEnd(6)} ${printable(path)} ${shown} ${paint('dim', `${ms} ms`)}${note}`;
}

/** What the log has of an error. */
interface Failure {
  message: string;
  stack?: string;
  cause?: Failure;
}

const stackOf = ({ message, stack = message, cause }: Failure): string =>
  `\n${paint('dim', printableLines(stack))}${cause ? `\ncaused by${stackOf(cause)}` : ''}`;
