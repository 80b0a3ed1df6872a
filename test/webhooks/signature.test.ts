import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import t from 'tap';
import { signatureSchemes } from '../../schemas/provider.ts';
import { readProviders } from '../../src/config/providers.ts';
import type { Headers } from '../../src/webhooks/signature.ts';
import { sign, verify } from '../../src/webhooks/signature.ts';
import { seed } from '../helper/values/random.ts';
import { signatureOf } from '../helper/webhooks.ts';

const time = new Date('2026-11-21T12:00:00Z');
const body = Buffer.from('{"id":"evt_1"}');

function provider(settings: unknown, name = 'acme') {
  const { providers, problems } = readProviders(JSON.stringify({ [name]: settings }));
  t.same(problems, []);
  const found = providers.get(name);
  if (!found) throw new Error('no provider');
  return found;
}

t.test("we sign as the provider's own package does", async t => {
  const ours = sign(provider(['whsec_1'], 'stripe'), body, { now: time, id: 'evt_1' });
  const timestamp = time.getTime() / 1000;
  t.equal(ours['stripe-signature'], signatureOf(body.toString(), { key: 'whsec_1', timestamp }));
});

t.test('each scheme accepts its own signature, names the secret, and rejects all else', async t => {
  for (const scheme of signatureSchemes) {
    const secrets = ['whsec_dGhlIG5ldyBzZWNyZXQgaXM=', 'whsec_dGhlIG9sZCBzZWNyZXQgd2Fz'];
    const accepting = provider({ scheme, secrets });
    const old = provider({ scheme, secrets: secrets.slice(1) });
    const headers = sign(old, body, { now: time, id: 'msg_1' });
    t.same(verify(accepting, headers, body, time), { genuine: true, secret: 1 }, scheme);
    t.match(verify(accepting, headers, Buffer.from('{"id":"evt_2"}'), time), { reason: 'wrong_secret' });
    t.match(verify(accepting, {}, body, time), { reason: 'no_header' });
    const late = verify(accepting, headers, body, new Date(time.getTime() + 812_000));
    t.match(
      late,
      ['sha256', 'hex', 'base64'].includes(scheme) ? { genuine: true } : { reason: 'stale', seconds: 812 },
      scheme,
    );
  }
});

t.test('the example of the Standard Webhooks specification is accepted', async t => {
  const headers = {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1a,xyz v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  };
  const accepting = provider({ scheme: 'standard', secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'] });
  const then = new Date(1614265330_000);
  const verdict = verify(accepting, headers, Buffer.from('{"test": 2432232314}'), then);
  t.same(verdict, { genuine: true, secret: 0 });
});

t.test('the signature header of a provider can be configured', async t => {
  const hub = provider({ scheme: 'sha256', header: 'x-hub-signature-256', secrets: ['s'] });
  const headers = { 'x-hub-signature-256': `sha256=${createHmac('sha256', 's').update(body).digest('hex')}` };
  t.match(verify(hub, headers, body, time), { genuine: true });
});

t.test('no forged header throws or is accepted', async t => {
  const providers = signatureSchemes.map(scheme =>
    provider({ scheme, secrets: ['MfKQ9r8GKYqrTwjUPD8ILA=='] }),
  );
  const piece = fc.oneof(
    fc.string(),
    fc.constantFrom(
      't=',
      'ts=',
      'v1=',
      'h1=',
      ';',
      ',',
      'sha256=',
      '1',
      'v1,',
      ' ',
      '=',
      '0'.repeat(64),
      `${'0'.repeat(43)}=`,
    ),
  );
  const value = fc.array(piece, { maxLength: 8 }).map(pieces => pieces.join(''));
  const guess = fc.property(value, value, value, (signature, stamp, id) => {
    const headers: Headers = {
      'webhook-timestamp': stamp,
      'webhook-id': id,
      'webhook-signature': signature,
    };
    return providers.every(one => !verify(one, { ...headers, [one.header]: signature }, body, time).genuine);
  });
  t.doesNotThrow(() => fc.assert(guess, { seed }));
});
