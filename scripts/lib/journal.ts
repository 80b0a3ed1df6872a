import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { OperatorError } from '#src/core/errors.ts';

export interface Entry {
  idx: number;
  when: number;
  tag: string;
}
interface Journal {
  entries: Entry[];
}

const folder = 'drizzle/migrations';
const path = `${folder}/meta/_journal.json`;
const snapshots = () => globSync(`${folder}/meta/*_snapshot.json`);
const read = (file: string) => readFileSync(file, 'utf8');

const conflict = /^<{7} .*\n([\s\S]*?)(?:^\|{7}[\s\S]*?)?^={7}\n([\s\S]*?)^>{7} .*\n/gm;
const isConflicted = (text: string) => text.search(conflict) >= 0;

/**
 * Joins a journal in which git left a conflict because two branches added migrations. It gets those of both, in the
 * order of their times. A database that has run some of them runs the others.
 */
export function joined(text: string): Journal {
  const sides: Journal[] = ['$1', '$2'].map(side => JSON.parse(text.replace(conflict, side)));
  const all = new Map(sides.flatMap(({ entries }) => entries).map(entry => [entry.tag, entry]));
  const ordered = [...all.values()].sort((a, b) => a.when - b.when);
  for (const [i, entry] of ordered.entries())
    Object.assign(entry, { idx: i, when: Math.max(entry.when, (ordered[i - 1]?.when ?? 0) + 1) });
  return { ...(sides[0] as Journal), entries: ordered };
}

/**
 * Joins the journal after a merge, and makes a new snapshot for drizzle-kit to compare tables with: each branch has one
 * without the tables of the other. Returns what it wrote, or would write.
 */
export async function joinMigrations(check?: boolean): Promise<string[]> {
  const text = read(path);
  const conflicted = globSync(`${folder}/*.sql`).find(file => isConflicted(read(file)));
  if (conflicted !== undefined)
    throw new OperatorError(
      `${conflicted} has the migrations of two branches: move one of them to a file of its own, in the journal, too.`,
    );
  if (![path, ...snapshots()].some(file => isConflicted(read(file)))) return [];
  const journal = joined(text);
  const last = `${folder}/meta/${String(journal.entries.length - 1).padStart(4, '0')}_snapshot.json`;
  if (check) return [path, last];
  for (const file of snapshots()) rmSync(file);
  const write = (file: string, value: object) => writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
  write(last, await snapshotOfTables());
  write(path, journal);
  return [path, last];
}

/** The snapshot that drizzle-kit makes of the tables. It is imported only here, because loading it takes long. */
async function snapshotOfTables(): Promise<object> {
  const { default: config } = await import('#drizzle.config.ts');
  const { generateDrizzleJson } = await import('./drizzleKit.ts');
  const files = globSync(config.schema as string[]);
  const tables = await Promise.all(files.map(file => import(resolve(file))));
  return JSON.parse(JSON.stringify(generateDrizzleJson(Object.assign({}, ...tables))));
}

/** Refuses tables that differ from the newest snapshot: their migration was forgotten. */
export async function checkTables(text = read(snapshots().toSorted().at(-1) ?? '')): Promise<void> {
  const newest = JSON.parse(text);
  const { id, prevId } = newest;
  if (!isDeepStrictEqual({ ...(await snapshotOfTables()), id, prevId }, newest))
    throw new OperatorError(
      'A change of drizzle/tables has no migration yet: npm run migration -- --name <what it does>',
    );
}

/** Refuses a journal whose times do not grow, or that names other migrations than there are. */
export function checkJournal({ entries }: Journal, files = globSync(`${folder}/*.sql`)): void {
  const early = entries.find(({ when }, i) => when <= (entries[i - 1]?.when ?? 0));
  if (early)
    throw new OperatorError(
      `In ${path}, \`when\` of ${early.tag} must be later than that of the migration before it.`,
    );
  const [named, there] = [entries.map(({ tag }) => tag), files.map(file => basename(file, '.sql'))];
  const unknown = there.find(tag => !named.includes(tag));
  if (unknown)
    throw new OperatorError(`${path} does not name ${folder}/${unknown}.sql, which would never run.`);
  const missing = named.find(tag => !there.includes(tag));
  if (missing) throw new OperatorError(`${path} names ${missing}, and there is no ${folder}/${missing}.sql.`);
}
