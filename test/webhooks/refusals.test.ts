import { gzipSync } from 'node:zlib';
import t from 'tap';
import { buildReceiver, paymentEvent, secret, signatureOf, valuesOf } from '#test/helper/events/webhooks.ts';

const event = paymentEvent();
const raw = JSON.stringify(event);
/** A body that is too deep to be explained: indented, it grows with the square of its depth. */
const deep = { ...event, deep: JSON.parse('['.repeat(40) + ']'.repeat(40)) };
const seconds = () => Math.floor(Date.now() / 1000);
const path = '/api/webhooks/stripe';

t.test('a wrong signature is refused without the reason, which only the metrics show', async t => {
  const { call, metrics } = await buildReceiver(t);
  const refusals: [string, string | Buffer, Record<string, string>][] = [
    ['no_header', raw, {}],
    ['malformed_header', raw, { 'stripe-signature': 'v1=00' }],
    ['malformed_header', raw, { 'stripe-signature': `${signatureOf(raw)},t=1` }],
    ['unknown_scheme', raw, { 'stripe-signature': signatureOf(raw).replace('v1=', 'v0=') }],
    ['wrong_secret', raw, { 'stripe-signature': signatureOf(raw, { key: 'whsec_of_somebody_else' }) }],
    ['wrong_secret', raw.replace('2000', '1'), { 'stripe-signature': signatureOf(raw) }],
    ['wrong_secret', raw.slice(0, -1), { 'stripe-signature': signatureOf(raw) }],
    ['wrong_secret', '', { 'stripe-signature': signatureOf(raw) }],
    ['wrong_secret', gzipSync(raw), { 'stripe-signature': signatureOf(raw), 'content-encoding': 'gzip' }],
    ['changed_body', JSON.stringify(event, null, 2), { 'stripe-signature': signatureOf(raw) }],
    ['changed_body', `${raw}\n`, { 'stripe-signature': signatureOf(raw) }],
    [
      'wrong_secret',
      JSON.stringify(deep, null, 2),
      { 'stripe-signature': signatureOf(JSON.stringify(deep)) },
    ],
    ['stale', raw, { 'stripe-signature': signatureOf(raw, { timestamp: seconds() - 812 }) }],
    ['future', raw, { 'stripe-signature': signatureOf(raw, { timestamp: seconds() + 330 }) }],
  ];
  const expected = new Map<string, number>();
  for (const [reason, body, headers] of refusals) {
    const answer = await call('POST', path, 400, { raw: body, headers });
    t.equal(answer.text, 'Invalid signature', reason);
    t.match(answer.headers['content-type'], /^text\/plain/);
    const series = `{provider="stripe",reason="${reason}"}`;
    expected.set(series, (expected.get(series) ?? 0) + 1);
  }
  t.same(await valuesOf(metrics, 'webhooks_refused_total'), expected);
  t.equal((await call('GET', '/api/webhook-events', 200)).body.data.length, 0, 'nothing was stored');
});

t.test('a timestamp may be off by the tolerance in both directions', async t => {
  const { call, eventually } = await buildReceiver(t);
  for (const timestamp of [seconds() - 290, seconds() + 290]) {
    const headers = { 'stripe-signature': signatureOf(raw, { timestamp }) };
    await call('POST', path, 200, { raw, headers });
  }
  await eventually('customer=cus_1', 'processed');
});

t.test('any pair of secret and signature may match, and the secret that did is counted', async t => {
  const secrets = JSON.stringify({ stripe: ['whsec_new', secret] });
  const { call, metrics } = await buildReceiver(t, { settings: { WEBHOOK_SECRETS: secrets } });
  const both = `${signatureOf(raw, { key: 'whsec_unknown' })},${signatureOf(raw).split(',')[1]}`;
  await call('POST', path, 200, { raw, headers: { 'stripe-signature': both } });
  const current = signatureOf(raw, { key: 'whsec_new' });
  await call('POST', path, 200, { raw, headers: { 'stripe-signature': current } });
  const received = (outcome: string, index: string) =>
    `{provider="stripe",outcome="${outcome}",secret="${index}"}`;
  const counted = await valuesOf(metrics, 'webhooks_received_total');
  t.equal(counted.get(received('received', '1')), 1);
  t.equal(counted.get(received('repeated', '0')), 1);
});

t.test('an unknown provider is a 404, and a body that is too large a 413', async t => {
  const { call, deliver } = await buildReceiver(t);
  const headers = { 'paypal-signature': signatureOf(raw) };
  t.match((await call('POST', '/api/webhooks/paypal', 404, { raw, headers })).body.error, { status: 404 });
  await call('POST', '/api/webhooks/__proto__', 404, { raw, headers });
  t.match((await deliver({ pad: 'x'.repeat(2 * 1024 * 1024) }, 413)).body.error, { status: 413 });
  t.match((await call('GET', path, 405)).headers.allow, /POST/);
});

t.test('a signed body that is not JSON is refused', async t => {
  const { call, deliver } = await buildReceiver(t);
  for (const body of ['', 'ok', '{"a":1', '{"id":"evt_1"} x']) {
    const answer = await deliver(body, 400);
    t.match(answer.text, /not valid JSON/);
    t.match(answer.headers['content-type'], /^text\/plain/);
  }
  t.equal((await call('GET', '/api/webhook-events', 200)).body.data.length, 0);
});

t.test('the rate limit does not apply to webhooks', async t => {
  const { deliver } = await buildReceiver(t, { settings: { RATE_LIMIT_MAX: 2 } });
  for (let i = 0; i < 5; i++) await deliver({ id: `evt_${i}`, type: 'charge.captured' });
});
