import { writeFileSync } from 'node:fs';
import { type Arguments, runCommand, UsageError } from '../src/command.ts';
import { drawChart } from './chart.ts';
import { measureCitus } from './citus.ts';
import { measureGrowth } from './growth.ts';
import { measureKey } from './key.ts';
import { measureMemory } from './memory.ts';
import { onStage } from './stage.ts';
import { measureStatements } from './statements.ts';
import { compare, tableOf } from './table.ts';
import { workloads } from './workloads.ts';
import { measureWrites } from './writes.ts';

const usage = `npm run bench -- [--rounds 3] [--seconds 5] [--users 10000] [--posts 200000] [--only <workload>,…] [--chart <file>]
  [--profile <folder>] [--growth | --memory | --key | --writes | --citus | --statements <workload>]

Measures the service and the floor in turn on one Postgres. bench/README.md explains the figures and the other
options. Workloads: ${workloads.map(({ name }) => name).join(', ')}

Example: npm run bench -- --rounds 1 --only ${workloads[0]?.name}`;

const options = {
  rounds: { type: 'string', default: '3' },
  seconds: { type: 'string', default: '5' },
  users: { type: 'string', default: '10000' },
  posts: { type: 'string', default: '200000' },
  only: { type: 'string' },
  chart: { type: 'string' },
  profile: { type: 'string' },
  growth: { type: 'boolean' },
  memory: { type: 'boolean' },
  writes: { type: 'boolean' },
  key: { type: 'boolean' },
  statements: { type: 'string' },
  citus: { type: 'boolean' },
} as const;

async function main({ values }: Arguments<typeof options>) {
  const { chart, profile } = values;
  const only = values.only?.split(',');
  const size = { users: Number(values.users), posts: Number(values.posts) };
  const effort = { rounds: Number(values.rounds), seconds: Number(values.seconds) };

  if (values.growth) await measureGrowth(size.users, effort.seconds, console.log);
  else if (values.memory) console.log(await measureMemory(size, effort.seconds));
  else if (values.citus) console.log(await measureCitus(effort));
  else if (values.key) console.log(await measureKey(size, effort));
  else if (values.statements) {
    const workload = workloads.find(({ name }) => name === values.statements);
    if (!workload) throw new UsageError(`There is no workload ${values.statements}`);
    console.log(await measureStatements(size, workload, effort.seconds));
  } else if (values.writes) console.log(await measureWrites(size, effort));
  else {
    const chosen = workloads.filter(({ name }) => only?.includes(name) ?? true);
    const rows = await onStage({ ...size, profile }, stage => compare(stage, chosen, effort));
    console.log(tableOf(rows));
    if (chart) writeFileSync(chart, drawChart(rows));
  }
}

await runCommand({ usage, options, run: main });
