import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { TSchema } from '@sinclair/typebox';
import { idInPath, ref, strict } from '../../schemas/common.ts';
import { Removal } from '../../schemas/contract.ts';
import { capitalize, withArticle } from '../../src/core/text.ts';
import type { Operations } from '../../src/services/resource.ts';
import { routesOf } from '../http/routes.ts';
import { deleted, sendChanged, sendCreated, sendDeleted, sendPage, sendRecord } from './replies.ts';

const mergePatch = ['application/json', 'application/merge-patch+json'];

/**
 * The routes of a resource, such as `/users` and `/users/:user_id`: list and get, and one for each operation that it has, with
 * the 409s that the service throws.
 */
export const resourceRoutes =
  ({ resource, create, replace, change, remove }: Operations): FastifyPluginAsyncTypebox =>
  async app => {
    const { contract, noun, nouns, title: One } = resource;
    const one = withArticle(noun);
    const Many = capitalize(resource.plural);
    const route = routesOf(capitalize(nouns));
    const name = `${noun.replaceAll(' ', '_')}_id`;
    const all = `/${resource.path}`;
    const each = `${all}/:${name}`;
    const params = strict({ [name]: idInPath(noun) });
    const idIn = (given: object) => (given as Record<string, string>)[name] ?? '';
    const versioned = { versioned: true, record: noun } as const;
    const record = ref(contract.record);
    const found = { params, response: { 200: record } };

    app.get(
      all,
      route(`list${Many}`, `List ${nouns}`, 'read', {
        description: `A page of ${nouns}, the oldest first unless \`sort\` says otherwise. Filters compare for equality, and several of them all apply.`,
        querystring: contract.query,
        response: { 200: ref<TSchema>(contract.list) },
      }),
      async ({ context, query }, reply) => sendPage(reply, await resource.list(context, query as never)),
    );
    app.get(
      each,
      route(`get${One}`, `Get ${one}`, 'read', {
        ...found,
        config: versioned,
        description: `The \`ETag\` is its version. A change that sends it back as \`If-Match\` overwrites nobody else's.`,
      }),
      async ({ context, params }, reply) => sendRecord(reply, await resource.get(context, idIn(params))),
    );
    if (create)
      app.post(
        all,
        route(`create${One}`, `Create ${one}`, 'write', {
          config: { ...versioned, conflicts: create.conflicts?.() ?? [], idempotencyKey: 'accepted' },
          description: `Answers with the new ${noun}, and with its path in \`Location\`. With an \`Idempotency-Key\` the request can be repeated until there is an answer.`,
          body: ref(contract.create),
          response: { 201: record },
        }),
        async ({ body }, reply) => sendCreated(reply, context => create(context, body as never)),
      );
    if (replace)
      app.put(
        each,
        route(`replace${One}`, `Replace ${one} completely`, 'write', {
          ...found,
          config: { ...versioned, conflicts: replace.conflicts?.() ?? [] },
          description: `Members that are absent get their defaults. The body may be what \`GET\` returned: if the ${noun} was changed since, the answer is a 409.`,
          body: ref(contract.replace),
        }),
        async ({ context, params, body, condition }, reply) =>
          sendChanged(reply, await replace(context, idIn(params), body as never, condition)),
      );
    if (change)
      app.patch(
        each,
        route(`update${One}`, `Update ${one} partially`, 'write', {
          ...found,
          config: { ...versioned, conflicts: change.conflicts?.() ?? [] },
          description: `Members that are absent stay as they are (RFC 7396). A change to the same values changes nothing, not even \`version\`.`,
          consumes: mergePatch,
          body: ref(contract.update),
        }),
        async ({ context, params, body, condition }, reply) =>
          sendChanged(reply, await change(context, idIn(params), body as never, condition)),
      );
    if (remove)
      app.delete(
        each,
        route(`delete${One}`, `Delete ${one}`, 'write', {
          config: { ...versioned, conflicts: remove.conflicts?.() ?? [] },
          description: `A ${noun} on which other records depend is deleted with them or not at all: \`cascade\`.`,
          params,
          querystring: Removal,
          response: { 204: deleted },
        }),
        async ({ context, params, query, condition }, reply) =>
          sendDeleted(reply, remove(context, idIn(params), query, condition)),
      );
  };
