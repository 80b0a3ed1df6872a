// runs: also on embedded
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { eq } from '#drizzle/orm.ts';
import { users } from '#drizzle/tables/users.ts';
import { newId } from '#src/core/ids.ts';
import { type Connection, orm } from '#src/database/connection.ts';
import { recordById } from '#src/database/statements/recordById.ts';
import { inTransaction } from '#src/database/write.ts';
import { user as kind, users as people } from '#src/domain/users.ts';
import { inside } from '#test/helper/access.ts';
import { backend, countRows, openTestDatabase } from '#test/helper/database.ts';
import { noDatabase } from '#test/helper/noDatabase.ts';

const person = (name: string) => ({ name, email: `${name}@example.com` });

/** Reads users on a connection whose answers come when their gates open. */
function watchedReads() {
  const sent: { ids: string[]; answer: (name: string) => void }[] = [];
  const rows: Connection['rows'] = (_text, [text]) => {
    const ids = String(text).slice(1, -1).split(',');
    return new Promise(resolve => {
      sent.push({
        ids,
        answer: name => resolve(ids.map(id => [id, 1, '2026-01-01', '2026-01-01', name, 'a@x.org'])),
      });
    });
  };
  const one = recordById(users);
  const db = { ...noDatabase, rows };
  return { sent, nameOf: async (id: string) => (await one(db, id))?.name };
}

t.test('the reads of one turn of the event loop are one statement, of a bounded size', async t => {
  const { sent, nameOf } = watchedReads();
  const ids = Array.from({ length: 2250 }, () => newId(0));
  const answers = Promise.all(ids.map(id => nameOf(id)));
  await turn();
  t.same(
    sent.map(({ ids }) => ids.length),
    [1000, 1000, 250],
  );
  for (const { ids, answer } of sent) answer(`of ${ids.length}`);
  t.same(new Set(await answers), new Set(['of 1000', 'of 250']));
});

t.test('no read joins a statement that was sent: no answer is older than its question', async t => {
  const { sent, nameOf } = watchedReads();
  const id = newId(0);
  const before = nameOf(id);
  await turn();
  t.equal(sent.length, 1, 'the first one is under way');
  const after = nameOf(id);
  await turn();
  t.equal(sent.length, 2);
  sent[1]?.answer('new');
  t.equal(await after, 'new', 'and nobody waits for an earlier statement');
  sent[0]?.answer('old');
  t.equal(await before, 'old');
});

t.test('reads inside a transaction run there', async t => {
  const context = inside(await openTestDatabase(t));
  const ada = await people.create(context, person('ada'));
  const outcome = inTransaction(context, async within => {
    await orm(within.db).update(users).set({ name: 'Countess' }).where(eq(users.id, ada.id));
    // The transaction has the only connection of an embedded database: a read outside would wait for its end.
    const outside = backend === 'postgres' ? kind.get(context, ada.id) : undefined;
    t.equal((await kind.get(within, ada.id)).name, 'Countess');
    t.equal((await outside)?.name ?? 'ada', 'ada');
    await people.create(within, person('bob'));
    throw new Error('undone');
  });
  await t.rejects(outcome, { message: 'undone' });
  t.equal((await kind.get(context, ada.id)).name, 'ada');
  t.equal(await countRows(context.db, users), 1);
});
