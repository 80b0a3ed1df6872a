import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../../schemas/common.ts';
import {
  EventPath,
  EventQuery,
  Replayed,
  ReplayFilter,
  WebhookEventDetail,
  WebhookEventList,
} from '../../schemas/event.ts';
import { getEvent, listEvents, replayEvent, replayEvents } from '../../src/webhooks/events.ts';
import { sendCursorPage } from './replies.ts';

const tags = ['Webhook events'];

/** For the operator: what has been received, how far it has come, and again from the start. */
export const eventRoutes: FastifyPluginAsyncTypebox = async app => {
  app.get(
    '/webhook-events',
    {
      config: { scope: 'admin' },
      schema: {
        tags,
        operationId: 'listWebhookEvents',
        summary: 'List received events',
        description: 'The newest first. The list uses cursors and has no total.',
        querystring: EventQuery,
        response: { 200: ref(WebhookEventList) },
      },
    },
    async (request, reply) =>
      sendCursorPage(request, reply, await listEvents(request.context, request.query)),
  );
  app.get(
    '/webhook-events/:event_id',
    {
      config: { scope: 'admin', errors: ['not_found'] },
      schema: {
        tags,
        operationId: 'getWebhookEvent',
        summary: 'One event, with its body and its failed attempts',
        params: EventPath,
        response: { 200: ref(WebhookEventDetail) },
      },
    },
    async request => getEvent(request.context, request.params.event_id),
  );
  app.post(
    '/webhook-events/:event_id/replay',
    {
      config: { scope: 'admin', errors: ['not_found', 'conflict'] },
      schema: {
        tags,
        operationId: 'replayWebhookEvent',
        summary: 'Process one event again',
        description: 'Possible for `failed`, `dead` and `ignored` events. The attempts are counted anew.',
        params: EventPath,
        response: { 200: ref(WebhookEventDetail) },
      },
    },
    async request => replayEvent(request.context, request.params.event_id),
  );
  app.post(
    '/webhook-events/replay',
    {
      config: { scope: 'admin' },
      schema: {
        tags,
        operationId: 'replayWebhookEvents',
        summary: 'Process many events again',
        description: 'The events that fit the filter, the oldest first, at most 10,000 in one call.',
        body: ref(ReplayFilter),
        response: { 200: ref(Replayed) },
      },
    },
    async request => replayEvents(request.context, request.body),
  );
};
