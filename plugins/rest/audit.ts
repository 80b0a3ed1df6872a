import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { AuditList, AuditQuery } from '../../schemas/audit.ts';
import { ref } from '../../schemas/common.ts';
import { listAudit } from '../../src/services/audit.ts';
import { sendCursorPage } from './replies.ts';

export const auditRoutes: FastifyPluginAsyncTypebox = async app => {
  app.get(
    '/audit',
    {
      config: { scope: 'admin' },
      schema: {
        tags: ['Access'],
        operationId: 'listAudit',
        summary: 'List who changed what',
        description:
          'Writes of users, posts and keys, changes of subscriptions and replays of events, the newest first. The list uses cursors and has no total.',
        querystring: AuditQuery,
        response: { 200: ref(AuditList) },
      },
    },
    async (request, reply) => sendCursorPage(request, reply, await listAudit(request.context, request.query)),
  );
};
