import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../../schemas/common.ts';
import {
  Subscription,
  SubscriptionChoice,
  SubscriptionList,
  SubscriptionPath,
  SubscriptionQuery,
} from '../../schemas/subscription.ts';
import { getSubscription, listSubscriptions } from '../../src/services/subscriptions.ts';
import { sendPage } from './replies.ts';

const tags = ['Subscriptions'];

export const subscriptionRoutes: FastifyPluginAsyncTypebox = async app => {
  app.get(
    '/subscriptions',
    {
      schema: {
        tags,
        operationId: 'listSubscriptions',
        summary: 'List subscriptions',
        querystring: SubscriptionQuery,
        response: { 200: ref(SubscriptionList) },
      },
    },
    async (request, reply) =>
      sendPage(request, reply, await listSubscriptions(request.context, request.query)),
  );
  app.get(
    '/subscriptions/:customer',
    {
      config: { errors: ['not_found', 'conflict'] },
      schema: {
        tags,
        operationId: 'getSubscription',
        summary: 'The subscription of a customer',
        description:
          'A customer with subscriptions of several providers: 409, whose `details` name them, unless `provider` chooses one.',
        params: SubscriptionPath,
        querystring: SubscriptionChoice,
        response: { 200: ref(Subscription) },
      },
    },
    async request => getSubscription(request.context, request.params.customer, request.query.provider),
  );
};
