import t from 'tap';
import { buildDoor, paymentEvent } from '../helper/webhooks.ts';

t.test('each replay is in the audit log, whether of one event or by filter', async t => {
  const { call, deliver, eventually } = await buildDoor(t);
  const ignored = (id: string) => ({ ...paymentEvent({ id }), type: 'customer.created' });
  await deliver(ignored('evt_1'));
  await deliver(ignored('evt_2'));
  const first = await eventually('type=customer.created', 'ignored');
  await call('POST', `/api/webhook-events/${first.id}/replay`, 200);
  await eventually('type=customer.created', 'ignored');
  const entries = (query = '') => call('GET', `/api/audit?action=event.replay${query}`, 200);
  t.match((await entries()).body.data, [{ recordId: first.id, door: 'rest', actorKind: 'anyone' }]);
  const { body } = await call('POST', '/api/webhook-events/replay', 200, { body: { status: 'ignored' } });
  t.equal(body.replayed, 2);
  t.equal((await entries()).body.data.length, 3);
  t.equal((await entries(`&record=${first.id}`)).body.data.length, 2);
});

t.test('a signed event needs no key, and a key does not replace the signature', async t => {
  const { call, deliver } = await buildDoor(t, { settings: { AUTH_MODE: 'required' } });
  await deliver(paymentEvent());
  await call('POST', '/api/webhooks/stripe', 400, { raw: '{}', headers: { authorization: 'Bearer x' } });
  await call('GET', '/api/webhook-events', 401);
});
