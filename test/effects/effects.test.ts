import t from 'tap';
import type { User } from '#schemas/user.ts';
import type { ChangeWithRecord, Effects, EffectTools } from '#src/effects/effect.ts';
import { users } from '#src/domain/users.ts';
import { buildReceiver, paymentEvent } from '#test/helper/events/webhooks.ts';
import { until } from '#test/rig/process.ts';
import { burrow } from '#test/world/burrows.ts';

interface Seen extends ChangeWithRecord<never> {
  key: string;
  name: string;
}

/** Effects of these names that note what they get. */
export function noting(...names: string[]) {
  const seen: Seen[] = [];
  const note = (name: string) => async (change: ChangeWithRecord<never>, { key }: EffectTools) => {
    seen.push({ ...change, key, name });
  };
  return { seen, effects: Object.fromEntries(names.map(name => [name, note(name)])) as Effects };
}

t.test('each committed change with an effect has it, with the record as it is, and its key', async t => {
  const { seen, effects } = noting('user.create', 'user.change', 'user.delete');
  const { call, newUser } = await buildReceiver(t, { effects });
  const user = await newUser();
  await until('the creation has had its effect', () => seen.length === 1);
  const path = `/api/users/${user.id}`;
  await call('PATCH', path, 200, { body: { name: 'Grace' }, headers: { 'content-type': 'application/json' } });
  await until('the change has had its effect', () => seen.length === 2);
  await call('DELETE', path, 204);
  await until('the deletion has had its effect', () => seen.length === 3);
  const { id } = user;
  t.match(seen, [
    { resource: 'user', id, action: 'create', version: 1, changed: [], record: user, at: user.createdAt },
    { action: 'change', version: 2, changed: ['name'], record: { name: 'Grace' } },
    { action: 'delete', version: 3, changed: [], record: null },
  ]);
  t.equal(new Set(seen.map(({ key }) => key)).size, 3);
  const { data } = (await call('GET', '/api/webhook-events?provider=effects', 200)).body;
  t.match(
    data,
    seen.toReversed().map(({ key, name }) => ({ eventId: key, type: name, customer: null, status: 'processed' })),
  );
  const { body } = (await call('GET', `/api/webhook-events/${data[2].id}`, 200)).body;
  const { key, name, record, ...change } = seen[0] as Seen;
  t.same(JSON.parse(body), change, 'the body is the change without its record');
});
