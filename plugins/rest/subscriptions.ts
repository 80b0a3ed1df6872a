import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { readContext } from '#plugins/http/context.ts';
import { routesOf } from '#plugins/http/routes.ts';
import { ref, strict, string } from '#schemas/parts/common.ts';
import {
  Subscription,
  SubscriptionChoice,
  SubscriptionList,
  SubscriptionQuery,
} from '#schemas/service/subscription.ts';
import { orNotFound } from '#src/core/errors.ts';
import { findSubscription, severalProviders, subscriptionList } from '#src/subscriptions/read.ts';
import { sendPage, sendRecord } from './replies.ts';

const route = routesOf('Subscriptions');
const params = strict({ customer: string('The identifier of the customer.', 'cus_NffrFeUfNV2Hib') });

export const subscriptionRoutes: FastifyPluginAsyncTypebox = async app => {
  app.get(
    '/subscriptions',
    route('listSubscriptions', 'List subscriptions', 'read', {
      description: 'Payment events write them; there is no request that changes one.',
      querystring: SubscriptionQuery,
      response: { 200: ref(SubscriptionList) },
    }),
    async (request, reply) =>
      sendPage(reply, await subscriptionList.page(readContext(request), request.query)),
  );
  app.get(
    '/subscriptions/:customer',
    route('getSubscription', "Get a customer's subscription", 'read', {
      config: { versioned: true, conflicts: [severalProviders], record: 'subscription' },
      description:
        'A customer with subscriptions from several providers gets a 409 whose `details` lists them, unless `provider` selects one.',
      params,
      querystring: SubscriptionChoice,
      response: { 200: ref(Subscription) },
    }),
    async (request, reply) => {
      const { params, query } = request;
      const found = await findSubscription(readContext(request), params.customer, query.provider);
      return sendRecord(reply, orNotFound('Subscription', found));
    },
  );
};
