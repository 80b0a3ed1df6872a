import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { TSchema } from '@sinclair/typebox';
import { readContext } from '#plugins/http/context.ts';
import { routesOf } from '#plugins/http/routes.ts';
import { idInPath, ref, strict } from '#schemas/parts/common.ts';
import { Removal } from '#schemas/parts/contract.ts';
import type { Conflict } from '#src/core/conflicts.ts';
import { capitalize, withArticle } from '#src/core/text.ts';
import type { Operations } from '#src/records/resource.ts';
import { deleted, sendChanged, sendCreated, sendDeleted, sendPage, sendRecord } from './replies.ts';

/** The 409s that these operations throw, each once. */
export function conflictsThrownBy(...operations: { conflicts?: () => Conflict[] }[]): Conflict[] {
  const all = operations.flatMap(({ conflicts }) => conflicts?.() ?? []);
  return [...new Map(all.map(each => [each.code, each])).values()];
}

/**
 * The routes of a resource, such as `/users` and `/users/:user_id`: list and get, and one for each operation that it
 * has, with the 409s that the service throws.
 */
export const resourceRoutes =
  ({ resource, create, replace, change, remove }: Operations): FastifyPluginAsyncTypebox =>
  async app => {
    const { contract, noun, nouns, plural, title, path } = resource;
    const one = withArticle(noun);
    const route = routesOf(capitalize(nouns));
    const config = { versioned: true, record: noun } as const;
    const name = `${noun.replaceAll(' ', '_')}_id`;
    const [all, each] = [`/${path}`, `/${path}/:${name}`];
    const idIn = (values: object) => (values as Record<string, string>)[name] ?? '';
    const params = strict({ [name]: idInPath(noun) });
    const found = { params, response: { 200: ref(contract.record) } };
    app.get(
      all,
      route(`list${capitalize(plural)}`, `List ${nouns}`, 'read or own', {
        description: `A page of ${nouns}, the oldest first unless \`sort\` says otherwise. All filters that are given apply. A page by \`page\` counts as one more request for each 10,000 ${nouns} that it counts or passes; one by cursor only if no index finds it among fewer.`,
        querystring: contract.query,
        response: { 200: ref<TSchema>(contract.list) },
      }),
      async (request, reply) =>
        sendPage(reply, await resource.list.page(readContext(request), request.query as never)),
    );
    app.get(
      each,
      route(`get${title}`, `Get ${one}`, 'read or own', {
        ...found,
        config,
        description: `The \`ETag\` is its version. A change that sends it back as \`If-Match\` overwrites nobody else's.`,
      }),
      async (request, reply) =>
        sendRecord(reply, await resource.get(readContext(request), idIn(request.params))),
    );
    if (create)
      app.post(
        all,
        route(`create${title}`, `Create ${one}`, create.scope ?? 'write', {
          config: { versioned: true, conflicts: conflictsThrownBy(create), idempotencyKey: true },
          description: `Answers with the new ${noun}, and with its path in \`Location\`. With an \`Idempotency-Key\` the request can be repeated until there is an answer.`,
          body: ref(contract.create),
          response: { 201: ref(contract.record) },
        }),
        async ({ body }, reply) => sendCreated(reply, context => create(context, body as never)),
      );
    if (replace)
      app.put(
        each,
        route(`replace${title}`, `Replace ${one} completely`, replace.scope ?? 'write', {
          ...found,
          config: { ...config, conflicts: conflictsThrownBy(replace) },
          description: `Members that are absent get their defaults. The body may be what \`GET\` returned: if the ${noun} was changed since, the answer is a 409.`,
          body: ref(contract.replace),
        }),
        async ({ params, body }, reply) =>
          sendChanged(reply, (context, condition) =>
            replace(context, idIn(params), body as never, condition),
          ),
      );
    if (change)
      app.patch(
        each,
        route(`update${title}`, `Update ${one} partially`, change.scope ?? 'write', {
          ...found,
          config: { ...config, conflicts: conflictsThrownBy(change) },
          description: `Members that are absent stay as they are (RFC 7396). A change to the same values changes nothing, not even \`version\`.`,
          consumes: ['application/json', 'application/merge-patch+json'],
          body: ref(contract.update),
        }),
        async ({ params, body }, reply) =>
          sendChanged(reply, (context, condition) => change(context, idIn(params), body as never, condition)),
      );
    if (remove)
      app.delete(
        each,
        route(`delete${title}`, `Delete ${one}`, remove.scope ?? 'write', {
          config: { ...config, conflicts: conflictsThrownBy(remove) },
          description: `A ${noun} on which other records depend is deleted with them or not at all: \`cascade\`.`,
          params,
          querystring: Removal,
          response: { 204: deleted },
        }),
        async ({ params, query }, reply) =>
          sendDeleted(reply, (context, condition) => remove(context, idIn(params), query, condition)),
      );
  };
