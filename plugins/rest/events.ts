import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { readContext } from '#plugins/http/context.ts';
import { routesOf } from '#plugins/http/routes.ts';
import { idInPath, ref, strict } from '#schemas/parts/common.ts';
import {
  Backlog,
  Dismissed,
  DismissFilter,
  EventQuery,
  Replayed,
  ReplayFilter,
  WebhookEventDetail,
  WebhookEventList,
} from '#schemas/service/webhookEvent.ts';
import { getBacklog } from '#src/webhooks/backlog.ts';
import type { Calls } from '#src/webhooks/calls.ts';
import { actOnEvent, actOnEvents, dismissal, getEvent, listEvents, replay } from '#src/webhooks/events.ts';
import { sendPage, sendResult } from './replies.ts';

const route = routesOf('Webhook events');
const config = { record: 'webhook event' };
const one = { params: strict({ event_id: idInPath('event') }), response: { 200: ref(WebhookEventDetail) } };

export const eventRoutes: FastifyPluginAsyncTypebox<{ calls: Calls }> = async (app, { calls }) => {
  const callWorkers = () => {
    calls.events.call();
    calls.effects.call();
  };
  app.get(
    '/webhook-events',
    route('listWebhookEvents', 'List received events', 'admin', {
      description: 'Newest first. The list uses cursors and has no total.',
      querystring: EventQuery,
      response: { 200: ref(WebhookEventList) },
    }),
    async (request, reply) => sendPage(reply, await listEvents(readContext(request), request.query)),
  );
  app.get(
    '/webhook-backlog',
    route('getWebhookBacklog', 'Get the numbers of events that are not done', 'admin', {
      description: 'For people and scripts; `/metrics` has the same for alerts.',
      response: { 200: ref(Backlog) },
    }),
    async request => getBacklog(readContext(request)),
  );
  app.get(
    '/webhook-events/:event_id',
    route('getWebhookEvent', 'Get an event with its body and its failed attempts', 'admin', {
      ...one,
      config,
      description: 'The body is what the provider sent, byte for byte if it is valid UTF-8.',
    }),
    async request => getEvent(readContext(request), request.params.event_id),
  );
  app.post(
    '/webhook-events/:event_id/replay',
    route('replayWebhookEvent', 'Process an event again', 'admin', {
      config: { ...config, conflicts: [replay.conflict], idempotencyKey: true },
      description:
        'Possible for `failed`, `dead`, `ignored` and `dismissed` events. The count of attempts starts again at 0.',
      ...one,
    }),
    async ({ params }, reply) =>
      sendResult(reply, context => actOnEvent(context, replay, params.event_id)).finally(callWorkers),
  );
  app.post(
    '/webhook-events/replay',
    route('replayWebhookEvents', 'Process many events again', 'admin', {
      config: { idempotencyKey: true },
      description: 'The events that match the filter, oldest first, at most 10,000 in one call.',
      body: ref(ReplayFilter),
      response: { 200: ref(Replayed) },
    }),
    async ({ body }, reply) =>
      sendResult(reply, context => actOnEvents(context, replay, body)).finally(callWorkers),
  );
  app.post(
    '/webhook-events/:event_id/dismiss',
    route('dismissWebhookEvent', 'Put an event away', 'admin', {
      config: { ...config, conflicts: [dismissal.conflict], idempotencyKey: true },
      description:
        'Possible for `failed` and `dead` events: they are not tried again, and count in no backlog. They can still be replayed.',
      ...one,
    }),
    async ({ params }, reply) =>
      sendResult(reply, context => actOnEvent(context, dismissal, params.event_id)),
  );
  app.post(
    '/webhook-events/dismiss',
    route('dismissWebhookEvents', 'Put many events away', 'admin', {
      config: { idempotencyKey: true },
      description: 'The events that match the filter, oldest first, at most 10,000 in one call.',
      body: ref(DismissFilter),
      response: { 200: ref(Dismissed) },
    }),
    async ({ body }, reply) => sendResult(reply, context => actOnEvents(context, dismissal, body)),
  );
};
