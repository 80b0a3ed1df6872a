import { join } from 'node:path';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { readContext } from '#plugins/http/context.ts';
import { servePage } from '#plugins/pages/assets.ts';
import { titleOf } from '#plugins/pages/titles.ts';
import { serviceTitle } from '#schemas/name.ts';
import { strict } from '#schemas/parts/common.ts';
import { notFound } from '#src/core/errors.ts';
import type { Database } from '#src/database/database.ts';
import type { AnyResource } from '#src/records/resource.ts';
import { describeList, serviceLists } from './document.ts';

interface Options {
  version: string;
  resources: AnyResource[];
  database: Pick<Database, 'kind'>;
}

/** The most names in one answer: those of a page. */
const mostNames = 100;

/**
 * The page for operators, and what it needs to know: the lists of this service, and who asks. The data comes through
 * the public API, with the key of the reader.
 */
export const operatorConsole: FastifyPluginAsyncTypebox<Options> = async (app, options) => {
  const { version, resources, database } = options;
  const send = servePage(app, '/console', {
    title: `${serviceTitle} console`,
    body: '<noscript>The console needs JavaScript.</noscript>',
    shared: ['parts.css', 'key.js', 'theme.js', 'age.js'],
    folder: join(import.meta.dirname, 'app'),
  });
  const route = { config: { scope: 'public', rateLimit: false }, schema: { hide: true } } as const;
  app.get('/console', route, async (_request, reply) => send(reply));

  const persons = resources.find(({ owner }) => owner === 'id')?.path ?? '';
  const lists = [
    ...resources.map(resource => ({ group: 'Records', path: resource.path, resource })),
    ...serviceLists,
  ];
  app.get(
    '/console/document',
    { config: { scope: 'read or own' }, schema: { hide: true } },
    async ({ caller: { actor } }) => {
      const { kind, name, scopes, person = null } = actor;
      return {
        name: serviceTitle,
        version,
        database: database.kind,
        caller: { kind, name, scopes, person },
        lists: lists.flatMap(shown => describeList(app.routes, actor, persons, shown) ?? []),
      };
    },
  );
  await app.register(namesRoute, { resources });
};

/** The names of the parents of a page, which would be a request for each. */
const namesRoute: FastifyPluginAsyncTypebox<Pick<Options, 'resources'>> = async (app, { resources }) => {
  const schema = {
    hide: true,
    params: strict({ path: Type.String() }),
    querystring: strict({ ids: Type.String({ maxLength: 37 * mostNames }) }),
  } as const;
  app.get('/console/names/:path', { config: { scope: 'read or own' }, schema }, async request => {
    const resource = resources.find(({ path }) => path === request.params.path);
    if (!resource) throw notFound('List');
    const ids = request.query.ids.split(',').slice(0, mostNames);
    const found = await resource.readAll(
      readContext(request),
      ids.map(id => ({ id })),
    );
    const title = titleOf(resource);
    const nameOf = (record: object) => (title && record[title as keyof object]) ?? null;
    return Object.fromEntries([...found].map(([id, record]) => [id, nameOf(record)]));
  });
};
