import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { User, UserCreate, UserList, UserQuery, UserReplace, UserUpdate } from '../../schemas/user.ts';
import { changeUser, createUser, deleteUser, emailTaken, listUsers, user } from '../../src/services/users.ts';
import { sendChanged, sendCreated, sendDeleted, sendPage, sendRecord } from './replies.ts';
import { resourceRoutes } from './resource.ts';

export const userRoutes: FastifyPluginAsyncTypebox = async app => {
  const route = resourceRoutes(User, user);
  app.get('/users', route.list(UserQuery, UserList), async ({ context, query }, reply) =>
    sendPage(reply, await listUsers(context, query)),
  );
  app.post('/users', route.create(UserCreate, [emailTaken]), async ({ body }, reply) =>
    sendCreated(reply, context => createUser(context, body)),
  );
  app.get('/users/:user_id', route.get(), async ({ context, params }, reply) =>
    sendRecord(reply, await user.get(context, params.user_id)),
  );
  app.put(
    '/users/:user_id',
    route.replace(UserReplace, [emailTaken]),
    async ({ context, params, body, condition }, reply) =>
      sendChanged(reply, await changeUser(context, params.user_id, body, condition)),
  );
  app.patch(
    '/users/:user_id',
    route.update(UserUpdate, [emailTaken]),
    async ({ context, params, body, condition }, reply) =>
      sendChanged(reply, await changeUser(context, params.user_id, body, condition)),
  );
  app.delete('/users/:user_id', route.remove(), async ({ context, params, query, condition }, reply) =>
    sendDeleted(reply, deleteUser(context, params.user_id, query, condition)),
  );
};
