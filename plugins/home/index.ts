import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { readContext } from '#plugins/http/context.ts';
import { vary } from '#plugins/http/headers.ts';
import { routesOf } from '#plugins/http/routes.ts';
import { escapeHtml, servePage, wantsPage } from '#plugins/pages/assets.ts';
import { serviceName, serviceTitle } from '#schemas/name.ts';
import { ref } from '#schemas/parts/common.ts';
import { homeSchema } from '#schemas/service/about.ts';
import { explain } from '#src/database/databaseErrors.ts';
import { type AnyResource, countRecords } from '#src/records/resource.ts';

interface Link {
  name: string;
  path: string;
  text: string;
}

interface Options {
  version: string;
  /** Whether callers need no credentials. */
  open: boolean;
  resources: { plural: string; path: string }[];
  /** The resources whose records are counted. */
  counted: AnyResource[];
  /** Pages besides those of the service. */
  pages: Link[];
}

const route = routesOf('Service');
const description = 'One application backend: REST, GraphQL and signed payment webhooks over the same data.';
export const pages: Link[] = [
  { name: 'docs', path: '/docs', text: 'Read the API, and try it in the browser' },
  { name: 'graphql', path: '/api/graphql', text: 'Explore the same data over GraphQL' },
  {
    name: 'console',
    path: '/console',
    text: 'All records, payments, keys and the audit log, for people who operate it',
  },
  { name: 'openapi', path: '/docs/json', text: 'The OpenAPI 3.1 document, for tools' },
  { name: 'health', path: '/health/ready', text: 'Whether the service is ready' },
];

const access = `<p>This service requires a key. Its administrator creates the first one on the server:
<code>npm run -s keys -- create --name first --scopes admin</code>`;

export const home: FastifyPluginAsyncTypebox<Options> = async (app, options) => {
  const { version, open, resources, counted } = options;
  const all = [...pages, ...options.pages];
  const links = [...all, ...resources.map(({ plural, path }) => ({ name: plural, path: `/api/${path}` }))];
  // Different numbers show that each resource has its own.
  const example = Object.fromEntries(counted.map(({ plural }, i) => [plural, 2 * i + 1]));
  const send = servePage(app, '/home', { title: serviceTitle, body: '' });

  /** Counts for callers who may read. An outage is no error here: people come to find the other pages. */
  async function countsFor(request: FastifyRequest) {
    if (!request.caller.actor.scopes.includes('read')) return undefined;
    try {
      return await countRecords(readContext(request), counted);
    } catch (error) {
      if (explain(error).code === 'unavailable') return undefined;
      throw error;
    }
  }

  const homeBody = (counts: Record<string, number> = {}) => `<main>
<h1>${escapeHtml(serviceTitle)}</h1>
<p>${description} Payment events are stored before they are acknowledged, and each takes effect once.
<ul>${all.map(({ path, text }) => `\n<li><a href="${path}">${path}</a> ${escapeHtml(text)}`).join('')}</ul>
<p>${counted.map(resource => countHtml(resource, counts[resource.plural])).join(' ')}
${open ? '' : access}
<p>Version ${version}
</main>`;

  app.get(
    '/',
    route('getHome', 'Describe the service', 'public', {
      config: { identified: true },
      description: 'JSON, or a page if `Accept` includes `text/html`. With counts for callers who may read.',
      response: { 200: ref(homeSchema(example)) },
    }),
    async (request, reply) => {
      const counts = await countsFor(request);
      if (wantsPage(request.headers.accept)) return send(reply as FastifyReply, homeBody(counts));
      vary(reply, 'accept');
      const paths = Object.fromEntries(links.map(({ name, path }) => [name, path]));
      return { name: serviceName, version, description, links: paths, ...(counts && { counts }) };
    },
  );
};

const countHtml = ({ path, nouns }: AnyResource, count: number | undefined) =>
  count === undefined ? '' : `<a href="/api/${path}">${nouns}</a> ${count.toLocaleString('en')}`;
