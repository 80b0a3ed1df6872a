import { availableParallelism, loadavg } from 'node:os';
import { resolve } from 'node:path';
import { type Arguments, type Io, mainOf, UsageError } from '#src/command.ts';
import { exit } from '#src/process/exit.ts';
import { attack } from './attack.ts';
import { kinds } from './kinds/all.ts';
import { failuresOf, lineOf } from './report.ts';
import { openScene } from './scene.ts';

const usage = `npx node test/rig/load/run.ts [--kinds 1,2,5a] [--together] [--seconds 10] [--target <folder of another checkout>]

Hostile clients attack a service as fast as they can, beside twenty honest ones: one kind after the other, then all of
them together. 'nobody' is the load of the honest ones alone. The exit code is 1 if an honest client was not served, or
the service took too much memory.

${['nobody', ...kinds.map(({ name }) => name)].map(name => `  ${name}`).join('\n')}

Example: npx node test/rig/load/run.ts --kinds 4,6b --seconds 5`;

const options = {
  kinds: { type: 'string' },
  together: { type: 'boolean' },
  seconds: { type: 'string', default: '10' },
  target: { type: 'string', default: resolve(import.meta.dirname, '../../..') },
} as const;

function chosen(text: string | undefined): string[] {
  const names = ['nobody', ...kinds.map(({ name }) => name)];
  const wanted = text?.split(',') ?? names;
  return wanted.map(start => {
    const found = names.find(name => name === start || name.split(' ', 1)[0] === start);
    if (!found) throw new UsageError(`There is no kind '${start}'`);
    return found;
  });
}

async function run({ values }: Arguments<typeof options>, io: Io): Promise<number> {
  const names = chosen(values.kinds);
  const seconds = Number(values.seconds);
  if (!(seconds >= 1 && seconds <= 3600)) throw new UsageError('--seconds must be 1 to 3600');
  io.out(`${availableParallelism()} cores; load average before: ${loadavg()[0]?.toFixed(1)}`);
  const opening = openScene(resolve(values.target));
  process.once('SIGINT', () => opening.then(({ close }) => close()).finally(() => exit(1)));
  const scene = await opening;
  const alone = values.together ? [] : names;
  const turns = alone.map(name => ({ title: name, hostile: name === 'nobody' ? [] : [name], seconds }));
  const all = names.filter(name => name !== 'nobody');
  if (values.together || all.length > 1)
    turns.push({ title: 'all together', hostile: all, seconds: 2 * seconds });
  let failed = 0;
  for (const turn of turns) {
    const result = await attack(scene, turn);
    const failures = failuresOf(result);
    io.out(lineOf(turn.title, result, failures));
    if (failures.length > 0) failed++;
    if (failures.length > 0 && turn.hostile.length === 0)
      io.out('  Nobody attacked: the machine is too busy to tell what attacks do.');
  }
  await scene.close();
  io.out(
    failed === 0
      ? 'Everybody was served.'
      : `FAILED: in ${failed} of ${turns.length} turns, not everybody was served.`,
  );
  return failed === 0 ? 0 : 1;
}

await mainOf(import.meta, { usage, options, run });
