import { join } from 'node:path';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { readContext } from '#plugins/http/context.ts';
import { vary } from '#plugins/http/headers.ts';
import { routesOf } from '#plugins/http/routes.ts';
import { servePage, wantsPage } from '#plugins/pages/assets.ts';
import { serviceName, serviceTitle } from '#schemas/name.ts';
import { ref } from '#schemas/parts/common.ts';
import { homeSchema } from '#schemas/service/about.ts';
import type { Database } from '#src/database/database.ts';
import { explain } from '#src/database/databaseErrors.ts';
import { countRecords } from '#src/records/resource.ts';
import { type Described, homePage, type Link } from './page.ts';

interface Options extends Omit<Described, 'links'> {
  database: Pick<Database, 'available'>;
  /** Pages besides those of the service. */
  pages: Link[];
}

const route = routesOf('Service');
const description = 'One application backend: REST, GraphQL and signed payment webhooks over the same data.';
export const pages: Link[] = [
  { name: 'docs', path: '/docs', text: 'Reference' },
  { name: 'graphql', path: '/api/graphql', text: 'GraphQL' },
  { name: 'console', path: '/console', text: 'Console' },
  { name: 'openapi', path: '/docs/json', text: 'OpenAPI document' },
  { name: 'health', path: '/health/ready', text: 'Health' },
];

export const home: FastifyPluginAsyncTypebox<Options> = async (app, options) => {
  const { version, counted, database, settings } = options;
  const links = [...pages, ...options.pages];
  const lists = counted.map(({ plural, path }) => ({ name: plural, path: `/api/${path}` }));
  const paths = Object.fromEntries([...links, ...lists].map(({ name, path }) => [name, path]));
  // Different numbers show that each resource has its own.
  const example = Object.fromEntries(counted.map(({ plural }, i) => [plural, 2 * i + 1]));
  const send = servePage(app, '/home', {
    title: serviceTitle,
    body: '',
    shared: ['parts.css', 'theme.js', 'age.js'],
    folder: join(import.meta.dirname, 'app'),
  });

  /** Counts the records. An outage is no error here: people come to find the other pages. */
  async function countsFor(request: FastifyRequest) {
    try {
      return await countRecords(readContext(request), counted);
    } catch (error) {
      if (explain(error).code === 'unavailable') return undefined;
      throw error;
    }
  }

  app.get(
    '/',
    route('getHome', 'Describe the service', 'public', {
      config: { identified: true },
      description: 'JSON, or a page if `Accept` includes `text/html`. With counts for callers who may read.',
      response: { 200: ref(homeSchema(example)) },
    }),
    async (request, reply) => {
      const { scopes } = request.caller.actor;
      const mayRead = scopes.includes('read');
      const counts = mayRead ? await countsFor(request) : undefined;
      if (wantsPage(request.headers.accept)) {
        const { protocol, host } = request;
        const address = `${protocol}://${host}`;
        // The reader may copy the address to a shell.
        const origin = /^https?:\/\/[\w.:[\]-]+$/.test(address)
          ? address
          : `http://localhost:${settings.PORT}`;
        const isAdmin = scopes.includes('admin');
        const seen = { origin, isReady: database.available(), mayRead, isAdmin, counts };
        return send(reply as FastifyReply, homePage({ ...options, links }, seen));
      }
      vary(reply, 'accept');
      return { name: serviceName, version, description, links: paths, ...(counts && { counts }) };
    },
  );
};
