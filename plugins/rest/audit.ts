import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { AuditList, AuditQuery } from '../../schemas/audit.ts';
import { ref } from '../../schemas/common.ts';
import { listAudit } from '../../src/services/audit.ts';
import { routesOf } from '../http/routes.ts';
import { sendPage } from './replies.ts';

const route = routesOf('Access');
const description =
  'Writes of users, posts and keys, changes of subscriptions and replays of events, newest first. The list uses cursors and has no total.';

export const auditRoutes: FastifyPluginAsyncTypebox = async app => {
  app.get(
    '/audit',
    route('listAudit', 'List the audit log', 'admin', {
      description,
      querystring: AuditQuery,
      response: { 200: ref(AuditList) },
    }),
    async (request, reply) => sendPage(request, reply, await listAudit(request.context, request.query)),
  );
};
