import { Type } from '@sinclair/typebox';
import t from 'tap';
import { eq } from '../../drizzle/orm.ts';
import { webhookEvents } from '../../drizzle/tables/webhookEvents.ts';
import { orm } from '../../src/database/connection.ts';
import { handlers } from '../../src/webhooks/handlers/index.ts';
import { payloadReader } from '../../src/webhooks/handlers/payloads.ts';
import { receiveEvent } from '../../src/webhooks/inbox.ts';
import { inside } from '../helper/access.ts';
import { openTestDatabase } from '../helper/database.ts';
import { stripeProvider } from '../helper/webhooks.ts';

const readNumbers = payloadReader(Type.Object({ n: Type.Number(), 'a/b': Type.Optional(Type.String()) }));

async function readAll<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** A function that stores an event, and returns it as a handler gets it. */
async function openInbox(t: Parameters<typeof openTestDatabase>[0]) {
  const database = await openTestDatabase(t);
  const context = inside(database);
  const receive = async (payload: object) => {
    const delivery = { provider: stripeProvider, headers: {}, body: Buffer.from(JSON.stringify(payload)) };
    const { id = '' } = await receiveEvent(context, handlers, delivery);
    const [stored] = await orm(database.reads).select().from(webhookEvents).where(eq(webhookEvents.id, id));
    return { ...(stored as typeof webhookEvents.$inferSelect), round: 0 };
  };
  return { context, receive };
}

t.test('payloads come in the order of the events, more than are read at once', async t => {
  const { context, receive } = await openInbox(t);
  const events = await Promise.all(Array.from({ length: 45 }, (_, n) => receive({ n, other: [{}] })));
  const read = await readAll(readNumbers(context, events.toReversed()));
  t.same(
    read.map(({ payload }) => payload.n),
    Array.from({ length: 45 }, (_, n) => 44 - n),
  );
  t.same(read[44], { event: events[0], payload: { n: 0, other: [{}] } }, 'with members that no schema names');
  t.same(await readAll(readNumbers(context, [])), []);
});

t.test('a payload that does not fit is an error that names the member', async t => {
  const { context, receive } = await openInbox(t);
  const read = async (payload: object) => readAll(readNumbers(context, [await receive(payload)]));
  await t.rejects(read({}), { message: 'The payload is not as expected: /n is required.' });
  await t.rejects(read({ n: '1' }), { message: 'The payload is not as expected: /n must be a number.' });
  await t.rejects(read({ n: 1, 'a/b': 2 }), {
    message: 'The payload is not as expected: /a~1b must be a string.',
  });
  await t.rejects(read([1]), { message: 'The payload is not as expected: it must be an object.' });
});
