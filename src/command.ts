import { type ParseArgsOptionsConfig as Options, parseArgs } from 'node:util';
import type { Settings } from '#schemas/settings.ts';
import { type Environment, loadSettings } from './config/settings.ts';
import { OperatorError } from './core/errors.ts';
import { type Report, reportOn } from './core/progress.ts';
import { printableLines } from './core/text.ts';
import { operatorReason } from './database/databaseErrors.ts';
import { exit } from './process/exit.ts';
import { describeError } from './telemetry/log.ts';
import { traceOf } from './telemetry/readableLines.ts';

export type Arguments<O extends Options> = ReturnType<
  typeof parseArgs<{ args: string[]; options: O; allowPositionals: true }>
>;

/** What a command gets from its process, or from a test. */
export interface Io {
  env: Environment;
  /** Throws a `SettingsError` unless they are valid. */
  settings(): Settings;
  /** Prints a line. */
  out(line: string): void;
  /** Prints a line on standard error. */
  err(line: string): void;
  /** Shows progress, on a terminal in a line that the next call or a printed line replaces. An empty text clears it. */
  progress: Report;
}

interface Command<O extends Options> {
  /** What `--help` prints. */
  usage: string;
  options?: O;
  /** How many arguments it takes at most, not counting the options. */
  most?: number;
  /** Returns the exit code, unless it is 0. */
  run: (args: Arguments<O>, io: Io) => Promise<void> | Promise<number>;
}

/** Takes arguments and returns the exit code. */
export type Main = (args: string[], io: Io) => Promise<number>;

/** A part of the usage of servers and workers. */
export const settingsUsage =
  'It has no options. Settings are environment variables, or lines of a file .env: docs/settings.md lists them.';

/** A wrong option or argument. */
export class UsageError extends OperatorError {
  constructor(problem: string) {
    super(`${problem}. See --help.`);
  }
}

const isWatched = process.stderr.isTTY && !process.env.CI;
const progress = reportOn(process.stderr, isWatched);
const afterProgress = (print: (line: string) => void) => (line: string) => {
  progress('');
  print(line);
};

const processIo: Io = {
  env: process.env,
  settings: loadSettings,
  out: afterProgress(console.log),
  err: afterProgress(console.error),
  progress,
};

/**
 * Makes the main function of a command, and runs it if its module is the program. A failure is the exit code 1 and one
 * line on standard error, or a stack if it is a bug.
 */
export async function mainOf<O extends Options>(module: ImportMeta, command: Command<O>): Promise<Main> {
  const main: Main = async (args, io) => {
    try {
      if (!args.includes('--help')) return (await command.run(readArguments(args, command), io)) || 0;
      io.out(command.usage);
      return 0;
    } catch (error) {
      io.err(printableLines(operatorReason(error) ?? traceOf(describeError(error))));
      return 1;
    } finally {
      io.progress('');
    }
  };
  const code = module.main ? await main(process.argv.slice(2), processIo) : 0;
  // `process.exitCode` would wait for open connections.
  if (code !== 0) await exit(code);
  return main;
}

function readArguments<O extends Options>(args: string[], { options, most = 0 }: Command<O>): Arguments<O> {
  const read = parse(args, options ?? ({} as O));
  const unexpected = read.positionals[most];
  if (unexpected !== undefined) throw new UsageError(`Unexpected argument '${unexpected}'`);
  return read;
}

function parse<O extends Options>(args: string[], options: O): Arguments<O> {
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
