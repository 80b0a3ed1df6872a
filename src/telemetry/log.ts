import { type DestinationStream, type Logger, pino } from 'pino';
import type { Settings } from '#schemas/settings.ts';
import { printableJson } from '#src/core/text.ts';
import { openLogOutput } from './logOutput.ts';
import { type Failure, readableLines } from './readableLines.ts';
import { isTracing, traceIds } from './tracing.ts';

export type Log = Logger;

/** The log of the process: readable lines on a terminal, JSON elsewhere. */
export function openLog(
  settings: Pick<Settings, 'LOG_LEVEL'>,
  terminal: boolean,
  destination?: DestinationStream,
): Log {
  const options = {
    level: settings.LOG_LEVEL,
    serializers: { err: describeError },
    ...(isTracing() && { mixin: traceIds }),
  };
  const output =
    destination ??
    openLogOutput(lines => log.warn({ lines }, 'The log was not read in time: lines were dropped.'));
  const log = pino(options, terminal ? readableLines(output) : jsonLines(output));
  return log;
}

/** JSON lines that are safe on a terminal, where people read them through collectors. */
const jsonLines = (destination: DestinationStream): DestinationStream => ({
  write: line => destination.write(printableJson(line)),
});

/**
 * An error and its causes for the log, without the values of a failed statement: they are personal data, and
 * the driver puts them into the message, the detail and the parameters.
 */
export function describeError(error: unknown): Failure {
  if (!(error instanceof Error)) return { message: String(error) };
  const { code, constraint, constraint_name, table_name, query } = error as Error & Record<string, unknown>;
  const facts = { code, constraint: constraint ?? constraint_name, table: table_name, query };
  return {
    type: error.constructor.name,
    message: errorMessage(error),
    ...Object.fromEntries(Object.entries(facts).filter(([, value]) => typeof value === 'string')),
    stack: errorStack(error),
    ...(error.cause ? { cause: describeError(error.cause) } : {}),
  };
}

function errorMessage({ message, code }: Error & { code?: unknown }): string {
  const [text = ''] = message.split('\nparams:');
  // An error of class 22 quotes the value that a type refuses.
  return /^22/.test(String(code)) ? text.replace(/".*"/s, '"…"') : text;
}

/** The stack without the values of a failed statement. */
function errorStack(error: Error): string {
  const { stack = '' } = error;
  // Skips the message, in which a value may look like a line of the stack.
  const lines = stack.slice(stack.indexOf(error.message) + error.message.length).split('\n');
  return [`${error.name}: ${errorMessage(error)}`, ...lines.filter(line => /^\s+at /.test(line))].join('\n');
}
