import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { ref, strict } from '../schemas/common.ts';
import { ProviderEvent } from '../schemas/event.ts';
import type { Settings } from '../schemas/settings.ts';
import { type Provider, readProviders } from '../src/config/providers.ts';
import { AppError, notFound } from '../src/core/errors.ts';
import type { Metrics } from '../src/telemetry/metrics.ts';
import type { Handlers } from '../src/webhooks/handlers/handler.ts';
import { receiveEvent } from '../src/webhooks/inbox.ts';
import type { Headers } from '../src/webhooks/schemes.ts';
import { verify } from '../src/webhooks/signature.ts';

/** Bytes of an event. */
const bodyLimit = 2 * 1024 * 1024;
/** Seconds that a signature may be old, or ahead of our clock. */
const tolerance = 300;

interface Options {
  settings: Settings;
  handlers: Handlers;
  metrics: Metrics;
  now: () => Date;
}

const plain = (text: string, description: string) => ({
  description,
  content: { 'text/plain': { schema: Type.Unsafe<string>({ type: 'string', examples: [text] }) } },
});

const anyType = 'application/octet-stream';

/** Where payment providers send their events. The parser of this door keeps the bytes that were signed. */
export const webhooks: FastifyPluginAsyncTypebox<Options> = async (app, options) => {
  const { settings, handlers, metrics, now } = options;
  const { providers } = readProviders(settings.WEBHOOK_SECRETS);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>(anyType, { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  );
  // The body is bytes, whatever the sender calls it; a name that is no media type would be refused before.
  app.addHook('onRequest', (request, _reply, done) => {
    request.raw.headers['content-type'] = anyType;
    done();
  });

  /** Whether the sender is the provider; says nothing to the caller, and everything to the log. */
  function isGenuine(provider: Provider, headers: Headers, body: Buffer, log: typeof app.log) {
    const verdict = verify(provider, headers, body, { now: now(), tolerance });
    if (verdict.genuine) return verdict;
    const { reason, seconds } = verdict;
    metrics.webhooksRefused.inc({ provider: provider.name, reason });
    const encoding = headers['content-encoding'];
    log.warn({ provider: provider.name, reason, seconds, encoding, bytes: body.length }, 'webhook refused');
    return undefined;
  }

  app.post(
    '/webhooks/:provider',
    {
      bodyLimit,
      config: {
        scope: 'public',
        door: 'webhook',
        rateLimit: false,
        errors: ['not_found'],
        anyMediaType: true,
      },
      // The bytes are looked at when their signature is known to be good, and not before.
      validatorCompiler: () => value => ({ value }),
      schema: {
        tags: ['Webhooks'],
        operationId: 'receiveEvent',
        summary: 'Receive an event of a payment provider',
        description: about,
        params: strict({ provider: Type.String({ description: 'Who sends it.', examples: ['stripe'] }) }),
        body: ref(ProviderEvent),
        response: {
          200: plain('OK', 'The event is stored; it is processed right after.'),
          400: plain(
            'Invalid signature',
            'The signature is missing, wrong or too old, or the body is not JSON.',
          ),
        },
      },
    },
    async (request, reply) => {
      const provider = providers.get(request.params.provider);
      if (!provider) throw notFound('Webhook provider');
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      reply.type('text/plain; charset=utf-8');
      const verdict = isGenuine(provider, request.headers, body, request.log);
      if (!verdict) return reply.code(400).send('Invalid signature');
      const delivery = { provider: provider.name, body, sentId: verdict.id };
      const receipt = await receiveEvent(request.context, handlers, delivery).catch(error => {
        if (error instanceof AppError && error.code === 'bad_request') return error;
        throw error;
      });
      if (receipt instanceof AppError) return reply.code(400).send(receipt.message);
      const facts = { provider: provider.name, outcome: receipt.outcome, secret: verdict.secret };
      metrics.webhooksReceived.inc(facts);
      const { id: event, eventId, type } = receipt;
      request.log.info({ ...facts, event, eventId, type }, 'webhook received');
      return 'OK';
    },
  );
};

const about = `The sender proves itself by a signature over the raw body in the header \`<provider>-signature\`, by default
\`t=<unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<body>">\`. The answer comes when the event is stored, and before it is
processed. An event may be sent again at any time: it is stored once and has its effect once. On
\`payment_intent.succeeded\` the subscription of \`data.object.customer\` becomes active; events of other types are stored
and ignored. While the service cannot store, the answer is 503: send the event again.`;
