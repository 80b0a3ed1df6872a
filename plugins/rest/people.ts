import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { readContext } from '#plugins/http/context.ts';
import { requestTarget, routesOf } from '#plugins/http/routes.ts';
import { idInPath, ref, strict } from '#schemas/parts/common.ts';
import {
  Identity,
  IdentityChoice,
  IdentityList,
  IdentityName,
  IdentityQuery,
} from '#schemas/service/identity.ts';
import type { Context } from '#src/access/context.ts';
import {
  addIdentity,
  getMe,
  identityTaken,
  listIdentities,
  type People,
  personExists,
  registerMe,
  removeIdentity,
} from '#src/people/identities.ts';
import { deleted, sendCreated, sendDeleted, sendPage, sendRecord, sendResult } from './replies.ts';
import { conflictsThrownBy } from './resource.ts';

const route = routesOf('People');
const config = { record: 'user' };
const versioned = { ...config, versioned: true } as const;
const params = strict({ user_id: idInPath('user') });
const identities = '/users/:user_id/identities';

/** Routes for the user who signed in, and for the identities whose tokens stand for a user. */
export const peopleRoutes =
  (people: People): FastifyPluginAsyncTypebox =>
  async app => {
    const { record, create } = people.resource.contract;
    app.get(
      '/me',
      route('getMe', 'Get the user who signed in', 'own', {
        config: versioned,
        description: 'A token whose user has not registered gets a 404 with the code `no_person`.',
        response: { 200: ref(record) },
      }),
      async (request, reply) => sendRecord(reply, await getMe(readContext(request), people)),
    );
    app.post(
      '/me',
      route('registerMe', 'Register', 'own', {
        config: {
          versioned: true,
          conflicts: [personExists, ...conflictsThrownBy(people.create)],
          idempotencyKey: true,
        },
        description: 'Creates the user whom the token stands for from now on. For tokens only.',
        body: ref(create),
        response: { 201: ref(record) },
      }),
      async ({ body }, reply) =>
        sendCreated(reply, context => registerMe(context, people, body), '/api/users'),
    );
    app.get(
      identities,
      route('listIdentities', 'List the identities of a user', 'admin', {
        config,
        description: 'The newest first, by cursor.',
        params,
        querystring: IdentityQuery,
        response: { 200: ref(IdentityList) },
      }),
      async (request, reply) => {
        const { params, query } = request;
        const page = await listIdentities(readContext(request), people, params.user_id, query);
        return sendPage(reply, page, requestTarget(request).pathname);
      },
    );
    app.post(
      identities,
      route('addIdentity', 'Link an identity to a user', 'admin', {
        config: { ...config, conflicts: [identityTaken], idempotencyKey: true },
        description: 'Its tokens stand for the user within 5 seconds. The same again is a 200.',
        params,
        body: ref(IdentityName),
        response: { 200: ref(Identity), 201: ref(Identity) },
      }),
      async (request, reply) => {
        const { params, body } = request;
        const add = async (context: Context) => {
          const { identity, isNew } = await addIdentity(context, people, params.user_id, body);
          reply.code(isNew ? 201 : 200);
          return identity;
        };
        return sendResult(reply, add, () => requestTarget(request).pathname);
      },
    );
    app.delete(
      identities,
      route('removeIdentity', 'Unlink an identity', 'admin', {
        config,
        description: 'Its tokens stand for nobody within 5 seconds.',
        params,
        querystring: IdentityChoice,
        response: { 204: deleted },
      }),
      async ({ params, query }, reply) =>
        sendDeleted(reply, (context, condition) =>
          removeIdentity(context, people, params.user_id, query, condition),
        ),
    );
  };
