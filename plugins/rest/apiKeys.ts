import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import {
  ApiKey,
  ApiKeyCreate,
  ApiKeyList,
  ApiKeyPath,
  ApiKeyQuery,
  NewApiKey,
} from '../../schemas/apiKey.ts';
import { ref } from '../../schemas/common.ts';
import { createKey, getKey, listKeys, revokeKey } from '../../src/services/apiKeys.ts';
import { deleted, sendCreated, sendPage } from './replies.ts';

const tags = ['Access'];
const params = ApiKeyPath;

/** `onRevoked` lets this instance forget a key at once; the others see it within seconds. */
export const apiKeyRoutes: FastifyPluginAsyncTypebox<{ onRevoked: (id: string) => void }> = async (
  app,
  { onRevoked },
) => {
  app.get(
    '/keys',
    {
      config: { scope: 'admin' },
      schema: {
        tags,
        operationId: 'listApiKeys',
        summary: 'List API keys',
        querystring: ApiKeyQuery,
        response: { 200: ref(ApiKeyList) },
      },
    },
    async (request, reply) => sendPage(request, reply, await listKeys(request.context, request.query)),
  );
  app.post(
    '/keys',
    {
      config: { scope: 'admin' },
      schema: {
        tags,
        operationId: 'createApiKey',
        summary: 'Create an API key',
        description: 'The answer holds the key itself. It is not stored and cannot be shown again.',
        body: ref(ApiKeyCreate),
        response: { 201: ref(NewApiKey) },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store');
      return sendCreated(request, reply, await createKey(request.context, request.body));
    },
  );
  app.get(
    '/keys/:key_id',
    {
      config: { scope: 'admin', errors: ['not_found'] },
      schema: {
        tags,
        operationId: 'getApiKey',
        summary: 'One API key',
        params,
        response: { 200: ref(ApiKey) },
      },
    },
    async request => getKey(request.context, request.params.key_id),
  );
  app.delete(
    '/keys/:key_id',
    {
      config: { scope: 'admin', errors: ['not_found'] },
      schema: {
        tags,
        operationId: 'revokeApiKey',
        summary: 'Revoke an API key',
        description: 'The key ends on every instance within 5 seconds. Its record stays, with `revokedAt`.',
        params,
        response: { 204: deleted },
      },
    },
    async (request, reply) => {
      await revokeKey(request.context, request.params.key_id);
      onRevoked(request.params.key_id);
      return reply.code(204).send();
    },
  );
};
