import { getHeapSpaceStatistics } from 'node:v8';
import postgres from 'postgres';

// Measures by how many MB the old generation grows with a thousand statements, and with a thousand transactions.
// memory.test.ts runs it in a process without tap, which keeps something of every promise.

const sql = postgres(process.argv[2] ?? '', { max: 1 });
const old = getHeapSpaceStatistics().findIndex(({ space_name }) => space_name === 'old_space');
const oldMegabytes = () => (getHeapSpaceStatistics()[old]?.space_used_size ?? 0) / 1e6;
const collect = (type: 'major' | 'minor') => global.gc?.({ type });

async function grownBy(work: () => Promise<unknown>): Promise<number> {
  for (let i = 0; i < 500; i++) await work();
  collect('major');
  const before = oldMegabytes();
  for (let i = 0; i < 1000; i++) await work();
  collect('minor');
  collect('minor');
  return oldMegabytes() - before;
}

const read = ({ unsafe }: Pick<typeof sql, 'unsafe'>) =>
  unsafe("select repeat('x', 50), repeat('y', 50) from generate_series(1, $1)", [100]).values();
const statement = await grownBy(async () => read(sql));
const transaction = await grownBy(async () => sql.begin(async tx => void (await read(tx))));
console.log(JSON.stringify({ statement, transaction }));
await sql.end();
