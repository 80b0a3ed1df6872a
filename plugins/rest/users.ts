import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { idInPath, ref, strict } from '../../schemas/common.ts';
import {
  User,
  UserCreate,
  UserList,
  UserQuery,
  UserRemoval,
  UserReplace,
  UserUpdate,
} from '../../schemas/user.ts';
import { changeUser, createUser, deleteUser, getUser, listUsers } from '../../src/services/users.ts';
import { routesOf } from '../http/routes.ts';
import { deleted, mergePatch, sendCreated, sendDeleted, sendPage } from './replies.ts';

const route = routesOf('Users');
const params = strict({ user_id: idInPath('user') });
const one = { params, response: { 200: ref(User) } };
const changed = { ...one, config: { conflicts: ['email_taken', 'stale'] } } as const;
const description =
  'A user who still has posts is a 409, unless `cascade` is true: then the posts are deleted too. With more than 10,000 posts it is a 409 and nothing is deleted.';

export const userRoutes: FastifyPluginAsyncTypebox = async app => {
  app.get(
    '/users',
    route('listUsers', 'List users', 'read', { querystring: UserQuery, response: { 200: ref(UserList) } }),
    async (request, reply) => sendPage(request, reply, await listUsers(request.context, request.query)),
  );
  app.post(
    '/users',
    route('createUser', 'Create a user', 'write', {
      config: { conflicts: ['email_taken'] },
      body: ref(UserCreate),
      response: { 201: ref(User) },
    }),
    async (request, reply) => sendCreated(request, reply, await createUser(request.context, request.body)),
  );
  app.get('/users/:user_id', route('getUser', 'Get a user', 'read', one), async request =>
    getUser(request.context, request.params.user_id),
  );
  app.put(
    '/users/:user_id',
    route('replaceUser', 'Replace a user completely', 'write', { ...changed, body: ref(UserReplace) }),
    async request => changeUser(request.context, request.params.user_id, request.body),
  );
  app.patch(
    '/users/:user_id',
    route('updateUser', 'Update a user partially', 'write', {
      ...changed,
      consumes: mergePatch,
      body: ref(UserUpdate),
    }),
    async request => changeUser(request.context, request.params.user_id, request.body),
  );
  app.delete(
    '/users/:user_id',
    route('deleteUser', 'Delete a user', 'write', {
      config: { conflicts: ['user_has_posts', 'too_many_posts'] },
      description,
      params,
      querystring: UserRemoval,
      response: { 204: deleted },
    }),
    (request, reply) =>
      sendDeleted(reply, deleteUser(request.context, request.params.user_id, request.query)),
  );
};
