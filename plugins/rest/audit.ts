import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { AuditList, auditQuery } from '../../schemas/audit.ts';
import { ref } from '../../schemas/common.ts';
import { auditList } from '../../src/services/audit.ts';
import { routesOf } from '../http/routes.ts';
import { sendPage } from './replies.ts';

const route = routesOf('Access');
const description =
  'Writes of records and keys, changes of subscriptions and replays of events, newest first. The list uses cursors and has no total.';

export const auditRoutes: FastifyPluginAsyncTypebox<{ names: string[] }> = async (app, { names }) => {
  app.get(
    '/audit',
    route('listAudit', 'List the audit log', 'admin', {
      description,
      querystring: auditQuery(names),
      response: { 200: ref(AuditList) },
    }),
    async (request, reply) => sendPage(reply, await auditList.byCursor(request.context, request.query)),
  );
};
