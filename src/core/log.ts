import { type Logger, pino, stdSerializers } from 'pino';
import { PinoPretty } from 'pino-pretty';
import type { Settings } from '../../schemas/settings.ts';

export type Log = Logger;

/** The log of the process. `pretty` is for a person at a terminal, JSON lines are for everything else. */
export function openLog(settings: Pick<Settings, 'LOG_LEVEL' | 'LOG_FORMAT'>, terminal: boolean): Log {
  const pretty = settings.LOG_FORMAT === 'pretty' || (settings.LOG_FORMAT === 'auto' && terminal);
  const options = {
    level: settings.LOG_LEVEL,
    serializers: { err: describeError },
    redact: ['req.headers.authorization', 'req.headers.cookie', '*.password', '*.secret'],
  };
  // Written at once: the last line before an exit is the one that is wanted most.
  return pretty
    ? pino(
        options,
        PinoPretty({ sync: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss.l', colorize: terminal }),
      )
    : pino(options);
}

/**
 * An error for the log, with its causes, but without the values of a failed statement: they are what people
 * wrote (names, addresses), and the driver puts them into the message, the detail and the parameters.
 */
export function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const { code, constraint, constraint_name, table_name, query } = error as Error & Record<string, unknown>;
  const { type, stack = '' } = stdSerializers.err(error);
  const message = error.message.split('\nparams:')[0] ?? '';
  return {
    type,
    message,
    ...Object.fromEntries(
      Object.entries({ code, constraint: constraint ?? constraint_name, table: table_name, query }).filter(
        ([, value]) => typeof value === 'string',
      ),
    ),
    stack: `${error.name}: ${message}\n${stack
      .split('\n')
      .filter(line => /^\s+at /.test(line))
      .join('\n')}`,
    ...(error.cause ? { cause: describeError(error.cause) } : {}),
  };
}
