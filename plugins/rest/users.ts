import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../../schemas/common.ts';
import {
  User,
  UserCreate,
  UserList,
  UserPath,
  UserQuery,
  UserRemoval,
  UserReplace,
  UserUpdate,
} from '../../schemas/user.ts';
import { changeUser, createUser, deleteUser, getUser, listUsers } from '../../src/services/users.ts';
import { deleted, sendCreated, sendPage } from './replies.ts';

const tags = ['Users'];
const params = UserPath;

export const userRoutes: FastifyPluginAsyncTypebox = async app => {
  app.get(
    '/users',
    {
      config: { scope: 'read' },
      schema: {
        tags,
        operationId: 'listUsers',
        summary: 'List users',
        querystring: UserQuery,
        response: { 200: ref(UserList) },
      },
    },
    async (request, reply) => sendPage(request, reply, await listUsers(request.context, request.query)),
  );
  app.post(
    '/users',
    {
      config: { scope: 'write', errors: ['conflict'] },
      schema: {
        tags,
        operationId: 'createUser',
        summary: 'Create a user',
        body: ref(UserCreate),
        response: { 201: ref(User) },
      },
    },
    async (request, reply) => sendCreated(request, reply, await createUser(request.context, request.body)),
  );
  app.get(
    '/users/:user_id',
    {
      config: { scope: 'read', errors: ['not_found'] },
      schema: { tags, operationId: 'getUser', summary: 'One user', params, response: { 200: ref(User) } },
    },
    async request => getUser(request.context, request.params.user_id),
  );
  app.put(
    '/users/:user_id',
    {
      config: { scope: 'write', errors: ['not_found', 'conflict'] },
      schema: {
        tags,
        operationId: 'replaceUser',
        summary: 'Replace a user completely',
        params,
        body: ref(UserReplace),
        response: { 200: ref(User) },
      },
    },
    async request => changeUser(request.context, request.params.user_id, request.body),
  );
  app.patch(
    '/users/:user_id',
    {
      config: { scope: 'write', errors: ['not_found', 'conflict'] },
      schema: {
        tags,
        operationId: 'updateUser',
        summary: 'Update a user partially',
        consumes: ['application/json', 'application/merge-patch+json'],
        params,
        body: ref(UserUpdate),
        response: { 200: ref(User) },
      },
    },
    async request => changeUser(request.context, request.params.user_id, request.body),
  );
  app.delete(
    '/users/:user_id',
    {
      config: { scope: 'write', errors: ['not_found', 'conflict'] },
      schema: {
        tags,
        operationId: 'deleteUser',
        summary: 'Delete a user',
        description:
          'A user who still has posts is kept (409) unless `cascade` is true; then the posts go too.',
        params,
        querystring: UserRemoval,
        response: { 204: deleted },
      },
    },
    async (request, reply) => {
      await deleteUser(request.context, request.params.user_id, request.query);
      return reply.code(204).send();
    },
  );
};
