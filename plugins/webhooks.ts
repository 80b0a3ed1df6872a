import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { ref, strict } from '#schemas/parts/common.ts';
import { ProviderEvent } from '#schemas/service/webhookEvent.ts';
import type { Settings } from '#schemas/settings.ts';
import { readProviders } from '#src/config/providers.ts';
import { notFound } from '#src/core/errors.ts';
import type { Metrics } from '#src/telemetry/metrics.ts';
import { describeSpan, eventAttributes } from '#src/telemetry/tracing.ts';
import type { Calls } from '#src/webhooks/calls.ts';
import type { Handlers } from '#src/webhooks/handler.ts';
import { receiveEvent } from '#src/webhooks/inbox.ts';
import { verify } from '#src/webhooks/signature.ts';
import { writeContext } from './http/context.ts';
import { routesOf } from './http/routes.ts';

const bodyLimit = 2 * 1024 * 1024;

interface Options {
  settings: Settings;
  handlers: Handlers;
  metrics: Metrics;
  calls: Calls;
  now: () => Date;
}

const route = routesOf('Webhooks');
const plain = (text: string, description: string) => ({
  description,
  content: { 'text/plain': { schema: Type.Unsafe<string>({ type: 'string', examples: [text] }) } },
});
const params = strict({
  provider: Type.String({ description: 'The provider that sends it.', examples: ['stripe'] }),
});
const response = {
  200: plain('OK', 'The event is stored and will be processed.'),
  400: plain('Invalid signature', 'The signature is missing, wrong or too old, or the body is not JSON.'),
};
const description = `The sender authenticates itself by a signature over the raw body. It is in the header that the provider's preset names, or in
\`<provider>-signature\` without a preset, by default as \`t=<unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<body>">\`. The response is sent once the event is stored, and before it
is processed. An event may be sent any number of times: it is stored once and takes effect once. If the service cannot
store the event, the response is a 503: send it again.

Events of these types have an effect, by the format of the provider; all others are stored and ignored.

`;

/** A request, signed as providers sign theirs. Their packages and `npm run webhook -- send` do it in one line. */
const signedRequest = `BODY='{"id":"evt_1","type":"payment_intent.succeeded","data":{"object":{"customer":"cus_123"}}}'
TIME=$(date +%s)
V1=$(printf '%s.%s' "$TIME" "$BODY" | openssl dgst -sha256 -hmac "$SIGNING_SECRET" -r | cut -d ' ' -f 1)
curl https://api.example.com/api/webhooks/stripe -H "stripe-signature: t=$TIME,v1=$V1" -d "$BODY"`;

function describeHandlers(handlers: Handlers): string {
  const ofPresets = [...Map.groupBy(handlers, ([, own]) => own)].map(([own, presets]) => {
    const effects = [...Map.groupBy(own, ([, { effect }]) => effect)];
    const lines = effects.map(([effect, types]) => `- ${listNames(types)}: ${effect}`);
    return `${listNames(presets)}:\n\n${lines.join('\n')}`;
  });
  return ofPresets.join('\n\n');
}

const listNames = (entries: [string, unknown][]) => entries.map(([name]) => `\`${name}\``).join(', ');

const deliveryRoute = (handlers: Handlers) => ({
  ...route('receiveEvent', 'Receive an event from a payment provider', 'public', {
    config: { transport: 'webhook', rateLimit: false, record: 'webhook provider' },
    'x-codeSamples': [{ lang: 'Shell', label: 'curl', source: signedRequest }],
    description: description + describeHandlers(handlers),
    params,
    body: ref(ProviderEvent),
    response,
  }),
  bodyLimit,
  // Accepts any body: it is parsed only when its signature has been verified.
  validatorCompiler: () => (value: unknown) => ({ value }),
});

export const webhooks: FastifyPluginAsyncTypebox<Options> = async (app, options) => {
  const { settings, handlers, metrics, calls, now } = options;
  const { providers } = readProviders(settings.WEBHOOK_SECRETS);
  parseAsBytes(app);
  app.post('/webhooks/:provider', deliveryRoute(handlers), async (request, reply) => {
    const provider = providers.get(request.params.provider);
    if (!provider) throw notFound('Webhook provider');
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    reply.type('text/plain; charset=utf-8');
    const { secret, reason, seconds } = verify(provider, request.headers, body, now());
    if (secret === undefined) {
      // The reason is not sent: it would help a forger.
      metrics.webhooksRefused.inc({ provider: provider.name, reason });
      const facts = { provider: provider.name, reason, seconds, bytes: body.length };
      const encoding = request.headers['content-encoding'];
      request.log.warn({ ...facts, encoding }, 'webhook refused');
      return reply.code(400).send('Invalid signature');
    }
    const delivery = { provider, headers: request.headers, body };
    const receipt = await receiveEvent(writeContext(request), handlers, delivery);
    if (!receipt) return reply.code(400).send('The body is not valid JSON in UTF-8.');
    if (receipt.outcome === 'received') calls.events.call();
    const labels = { provider: provider.name, outcome: receipt.outcome, secret };
    metrics.webhooksReceived.inc(labels);
    const { id: event, eventId, type, customer } = receipt;
    describeSpan(eventAttributes(event, eventId));
    request.log.info({ ...labels, event, eventId, type, customer }, 'webhook received');
    return 'OK';
  });
};

/** Keeps the bytes that were signed, whatever media type the sender gives them. */
function parseAsBytes(app: FastifyInstance): void {
  const anyType = 'application/octet-stream';
  app.addContentTypeParser<Buffer>(anyType, { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  );
  // Fastify would refuse a malformed media type before it calls the parser.
  app.addHook('onRequest', (request, _reply, done) => {
    request.raw.headers['content-type'] = anyType;
    done();
  });
}
