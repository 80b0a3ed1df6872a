import type { Io, Main } from '#src/command.ts';
import { readSettings } from '#src/config/settings.ts';

/** Runs a command in this process, with only these settings; returns its exit code and what it prints. */
export async function run(main: Main, args: string[], env: Record<string, string> = {}) {
  const printed = { out: '', err: '' };
  const print = (to: 'out' | 'err') => (line: string) => {
    printed[to] += `${line}\n`;
  };
  const io: Io = {
    env,
    settings: () => readSettings(env),
    out: print('out'),
    err: print('err'),
    progress: () => {},
  };
  const code = await main(args, io);
  return { code, ...printed };
}
