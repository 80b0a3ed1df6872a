import { type DestinationStream, type Logger, pino } from 'pino';
import { PinoPretty } from 'pino-pretty';
import type { Settings } from '../../schemas/settings.ts';
import { isTracing, traceIds } from './tracing.ts';

export type Log = Logger;

/** The log of the process. `pretty` is for a person at a terminal, JSON lines are for everything else. */
export function openLog(
  settings: Pick<Settings, 'LOG_LEVEL' | 'LOG_FORMAT'>,
  terminal: boolean,
  // Written at once: the last line before an exit is the one that is wanted most.
  destination: DestinationStream = pino.destination({ sync: true }),
): Log {
  const pretty = settings.LOG_FORMAT === 'pretty' || (settings.LOG_FORMAT === 'auto' && terminal);
  const options = {
    level: settings.LOG_LEVEL,
    serializers: { err: describeError },
    ...(isTracing() && { mixin: traceIds }),
    redact: ['req.headers.authorization', 'req.headers.cookie', '*.password', '*.secret'],
  };
  const look = { ignore: 'pid,hostname', translateTime: 'HH:MM:ss.l', colorize: terminal };
  return pino(options, pretty ? PinoPretty({ sync: true, destination, ...look }) : destination);
}

/**
 * An error for the log, with its causes, but without the values of a failed statement: they are what people
 * wrote (names, addresses), and the driver puts them into the message, the detail and the parameters.
 */
export function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const { code, constraint, constraint_name, table_name, query } = error as Error & Record<string, unknown>;
  const message = error.message.split('\nparams:')[0] ?? '';
  const { stack = '' } = error;
  // What comes after the message: within it, a value may look like a line of the stack.
  const lines = stack.slice(stack.indexOf(error.message) + error.message.length).split('\n');
  return {
    type: error.constructor.name,
    message,
    ...Object.fromEntries(
      Object.entries({ code, constraint: constraint ?? constraint_name, table: table_name, query }).filter(
        ([, value]) => typeof value === 'string',
      ),
    ),
    stack: [`${error.name}: ${message}`, ...lines.filter(line => /^\s+at /.test(line))].join('\n'),
    ...(error.cause ? { cause: describeError(error.cause) } : {}),
  };
}
