import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import t from 'tap';
import { signatureSchemes } from '#schemas/service/provider.ts';
import { type Provider, readProviders } from '#src/config/providers.ts';
import type { Headers } from '#src/webhooks/signature.ts';
import { sign, verify } from '#src/webhooks/signature.ts';
import { seed } from '#test/helper/values/random.ts';

const time = new Date('2026-11-21T12:00:00Z');
const body = Buffer.from('{"id":"evt_1"}');

const provider = (settings: object) =>
  readProviders(JSON.stringify({ acme: settings })).providers.get('acme') as Provider;

t.test('each scheme accepts its own signature, names the secret, and rejects all else', async t => {
  for (const scheme of signatureSchemes) {
    const secrets = ['whsec_dGhlIG5ldyBzZWNyZXQgaXM=', 'whsec_dGhlIG9sZCBzZWNyZXQgd2Fz'];
    const accepting = provider({ scheme, secrets });
    const old = provider({ scheme, secrets: secrets.slice(1) });
    const headers = sign(old, body, { now: time, id: 'msg_1' });
    t.same(verify(accepting, headers, body, time), { secret: 1 }, scheme);
    t.match(verify(accepting, headers, Buffer.from('{"id":"evt_2"}'), time), { reason: 'wrong_secret' });
    t.match(verify(accepting, {}, body, time), { reason: 'no_header' });
    const late = verify(accepting, headers, body, new Date(time.getTime() + 812_000));
    t.match(
      late,
      ['sha256', 'hex', 'base64'].includes(scheme) ? { secret: 1 } : { reason: 'stale', seconds: 812 },
      scheme,
    );
  }
});

t.test('no forged header throws or is accepted', async t => {
  const providers = signatureSchemes.map(scheme =>
    provider({ scheme, secrets: ['MfKQ9r8GKYqrTwjUPD8ILA=='] }),
  );
  const piece = fc.oneof(
    fc.string(),
    fc.constantFrom(' ', '0'.repeat(64), `${'0'.repeat(43)}=`),
    fc.constantFrom(...'t= ts= v1= h1= ; , sha256= 1 v1, ='.split(' ')),
  );
  const value = fc.array(piece, { maxLength: 8 }).map(pieces => pieces.join(''));
  const guess = fc.property(value, value, value, (signature, stamp, id) => {
    const headers: Headers = {
      'webhook-timestamp': stamp,
      'webhook-id': id,
      'webhook-signature': signature,
    };
    return providers.every(one => !verify(one, { ...headers, [one.header]: signature }, body, time).secret);
  });
  t.doesNotThrow(() => fc.assert(guess, { seed }));
});

t.test(
  'hostile: a forged body costs one hash, and is looked into when it is small, ten times a second',
  async t => {
    const accepting = provider({ scheme: 'timestamped', secrets: ['MfKQ9r8GKYqrTwjUPD8ILA=='] });
    const reasonsOf = (value: unknown, count: number) => {
      const headers = sign(accepting, Buffer.from(JSON.stringify(value)), { now: time, id: 'msg_1' });
      const changed = Buffer.from(JSON.stringify(value, null, 1));
      return Array.from({ length: count }, () => verify(accepting, headers, changed, time).reason);
    };
    const large = { text: 'x'.repeat(8192) };
    // Waits for the next second: the tests before may have used the explanations of this one.
    await sleep(1100);
    t.same(reasonsOf(large, 1), ['wrong_secret']);
    const reasons = reasonsOf({ id: 'evt_1' }, 12);
    t.same(reasons.slice(0, 9), Array(9).fill('changed_body'));
    t.same(reasons.slice(10), ['wrong_secret', 'wrong_secret']);
    // Waits for the next second, which has its own explanations.
    await sleep(1100);
    t.same(reasonsOf({ id: 'evt_1' }, 1), ['changed_body']);
  },
);
