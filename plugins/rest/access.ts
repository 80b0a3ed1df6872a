import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { readContext } from '#plugins/http/context.ts';
import { refuseKey } from '#plugins/http/requests/idempotency.ts';
import { routesOf } from '#plugins/http/routes.ts';
import { idInPath, ref, strict } from '#schemas/parts/common.ts';
import { ApiKey, ApiKeyCreate, ApiKeyList, ApiKeyQuery, NewApiKey } from '#schemas/service/apiKey.ts';
import { AuditList, auditQuery } from '#schemas/service/audit.ts';
import { createKey, getKey, keyList, revokeKey } from '#src/people/apiKeys.ts';
import { auditList } from '#src/records/audit.ts';
import { deleted, sendCreated, sendDeleted, sendPage } from './replies.ts';

const route = routesOf('Access');
const config = { record: 'API key' };
const params = strict({ key_id: idInPath('key') });

/** API keys, and the audit log. */
export const accessRoutes: FastifyPluginAsyncTypebox<{ names: string[] }> = async (app, { names }) => {
  app.get(
    '/keys',
    route('listApiKeys', 'List API keys', 'admin', {
      description: 'Revoked and expired keys too. None contains its secret.',
      querystring: ApiKeyQuery,
      response: { 200: ref(ApiKeyList) },
    }),
    async (request, reply) => sendPage(reply, await keyList.page(readContext(request), request.query)),
  );
  app.post(
    '/keys',
    route('createApiKey', 'Create an API key', 'admin', {
      description: 'The response contains the key itself. It is not stored and cannot be shown again.',
      body: ref(ApiKeyCreate),
      response: { 201: ref(NewApiKey) },
    }),
    async (request, reply) => {
      refuseKey(request);
      reply.header('cache-control', 'no-store');
      return sendCreated(reply, context => createKey(context, request.body));
    },
  );
  app.get(
    '/keys/:key_id',
    route('getApiKey', 'Get an API key', 'admin', {
      config,
      description: 'Says what the key may do, and when it was last used; not its secret.',
      params,
      response: { 200: ref(ApiKey) },
    }),
    async request => getKey(readContext(request), request.params.key_id),
  );
  app.delete(
    '/keys/:key_id',
    route('revokeApiKey', 'Revoke an API key', 'admin', {
      config,
      description:
        'The key stops working on every instance within 5 seconds. Its record stays, with `revokedAt`.',
      params,
      response: { 204: deleted },
    }),
    async ({ params }, reply) =>
      sendDeleted(reply, (context, condition) => revokeKey(context, params.key_id, condition)),
  );
  app.get(
    '/audit',
    route('listAudit', 'List the audit log', 'admin', {
      description:
        'Writes of records and keys, changes of subscriptions and replays of events, newest first. The list uses cursors and has no total.',
      querystring: auditQuery(names),
      response: { 200: ref(AuditList) },
    }),
    async (request, reply) => sendPage(reply, await auditList.byCursor(readContext(request), request.query)),
  );
};
