import type { Test } from 'tap';
import type { Settings } from '#schemas/settings.ts';
import type { Database } from '#src/database/database.ts';
import { inLongTransaction } from '#src/database/write.ts';
import { build } from './app.ts';
import { openTestDatabase, watchStatements } from './database.ts';

type Variables = Record<string, unknown>;

/** Builds an application and functions that send it GraphQL by POST. */
export async function buildGraphQL(t: Test, settings: Partial<Settings> = {}) {
  const { database, sent } = watchStatements(await openTestDatabase(t));
  const built = await build(t, { settings, database });
  const post = (query: string, variables?: Variables) =>
    built.call('POST', '/api/graphql', 200, { body: { query, ...(variables && { variables }) } });
  const ask = async (query: string, variables?: Variables) => (await post(query, variables)).body;
  const errorsOf = async (query: string, variables?: Variables) => (await ask(query, variables)).errors;
  return { ...built, database, statements: sent, post, ask, errorsOf };
}

/** Inserts burrows with specimens straight into the database: the API would take long for so many. */
export async function fill({ writes }: Database, burrows: number, specimensEach: number): Promise<void> {
  const id = (kind: number, number: string) =>
    `('019aa5d0-000${kind}-7000-8000-' || lpad(to_hex(${number}), 12, '0'))::uuid`;
  const insertBurrows = `insert into burrows (id, label, created_at, updated_at)
    select ${id(1, 'n')}, 'Burrow ' || n, now(), now() from generate_series(1, ${burrows}) n`;
  const insertSpecimens = `insert into specimens (id, label, burrow_id, created_at, updated_at)
    select ${id(2, `(b * ${specimensEach} + s)`)}, 'Specimen ' || s || ' of ' || b, ${id(1, 'b')}, now(), now()
    from generate_series(1, ${burrows}) b, generate_series(1, ${specimensEach}) s`;
  await inLongTransaction(writes, async inside => {
    await inside.rows(insertBurrows, []);
    await inside.rows(insertSpecimens, []);
  });
}
