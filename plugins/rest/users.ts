import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { User, UserCreate, UserList, UserQuery, UserReplace, UserUpdate } from '../../schemas/user.ts';
import { changeUser, createUser, deleteUser, emailTaken, listUsers, user } from '../../src/services/users.ts';
import { sendCreated, sendDeleted, sendPage } from './replies.ts';
import { resourceRoutes } from './resource.ts';

export const userRoutes: FastifyPluginAsyncTypebox = async app => {
  const route = resourceRoutes(User, user);
  app.get('/users', route.list(UserQuery, UserList), async ({ context, query }, reply) =>
    sendPage(reply, await listUsers(context, query)),
  );
  app.post('/users', route.create(UserCreate, [emailTaken]), async ({ context, body }, reply) =>
    sendCreated(reply, await createUser(context, body)),
  );
  app.get('/users/:user_id', route.get(), async ({ context, params }) => user.get(context, params.user_id));
  app.put('/users/:user_id', route.replace(UserReplace, [emailTaken]), async ({ context, params, body }) =>
    changeUser(context, params.user_id, body),
  );
  app.patch('/users/:user_id', route.update(UserUpdate, [emailTaken]), async ({ context, params, body }) =>
    changeUser(context, params.user_id, body),
  );
  app.delete('/users/:user_id', route.remove(), async ({ context, params, query }, reply) =>
    sendDeleted(reply, deleteUser(context, params.user_id, query)),
  );
};
