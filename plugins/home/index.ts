import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ref } from '../../schemas/common.ts';
import { Home } from '../../schemas/service.ts';
import { explain } from '../../src/services/refusals.ts';
import { type AnyResource, counterOf } from '../../src/services/resource.ts';
import { sendHtml, vary, wantsPage } from '../http/headers.ts';
import { routesOf } from '../http/routes.ts';
import { serveAssets, themeFile } from '../pages/assets.ts';
import { fillTemplate } from '../pages/template.ts';

interface Options {
  version: string;
  /** Whether callers need no credentials. */
  open: boolean;
  resources: { plural: string; path: string }[];
  /** Those whose records are counted. */
  counted: AnyResource[];
}

const route = routesOf('Service');
const description = 'One application backend: REST, GraphQL and signed payment webhooks over the same data.';
const here = (name: string) => join(import.meta.dirname, name);
const pages = [
  { name: 'docs', path: '/docs', text: 'Read the API, and try it in the browser' },
  { name: 'graphql', path: '/api/graphql', text: 'Explore the same data over GraphQL' },
  { name: 'console', path: '/console', text: 'Events, customers, keys and the audit log, for operators' },
  { name: 'openapi', path: '/docs/json', text: 'The OpenAPI 3.1 document, for tools' },
  { name: 'health', path: '/health/ready', text: 'Whether the service is ready' },
];

const policy =
  "default-src 'none'; img-src data:; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const access = `<p>This service requires a key. Its administrator creates the first one on the server, before the start if the
  database is embedded:</p><pre>KEY=$(npm run -s keys -- create --name first --scopes admin)</pre>`;

export const home: FastifyPluginAsyncTypebox<Options> = async (app, options) => {
  const { version, open, resources, counted } = options;
  const template = await readFile(here('page.html'), 'utf8');
  const urls = await serveAssets(app, '/home', { 'theme.css': themeFile, 'style.css': here('style.css') });
  const forms = open
    ? {}
    : { access, credentials: ' -H "Authorization: Bearer $KEY"', option: ' --key "$KEY"' };
  const links = [...pages, ...resources.map(({ plural, path }) => ({ name: plural, path: `/api/${path}` }))];
  const countRecords = counterOf(counted);

  /** Only callers who may read learn how much is stored. During an outage this is where one looks for the other pages. */
  async function countsFor(request: FastifyRequest) {
    if (!request.actor.scopes.includes('read')) return undefined;
    try {
      return await countRecords(request.context);
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
      response: { 200: ref(Home) },
    }),
    async (request, reply) => {
      const counts = await countsFor(request);
      if (!wantsPage(request.headers.accept)) {
        vary(reply, 'accept');
        const paths = Object.fromEntries(links.map(({ name, path }) => [name, path]));
        return { name: 'triport', version, description, links: paths, ...(counts && { counts }) };
      }
      const page = fillTemplate(template, {
        ...urls,
        ...forms,
        version,
        description,
        origin: originOf(request),
        counts: counts ? counted.map(resource => countHtml(resource, counts[resource.plural])).join('') : '',
        links: pages.map(linkHtml).join(''),
      });
      return sendHtml(reply as FastifyReply, page, policy);
    },
  );
};

/** For commands to copy. A `Host` header may have what a shell would run, such as `$(…)`. */
function originOf({ protocol, host }: FastifyRequest): string {
  const origin = `${protocol}://${host}`;
  return /^https?:\/\/[\w.:[\]-]+$/.test(origin) ? origin : 'https://api.example.com';
}

const countHtml = ({ path, nouns }: AnyResource, count = 0) =>
  `<div><dt><a href="/api/${path}">${nouns}</a></dt><dd>${count.toLocaleString('en')}</dd></div>`;
const linkHtml = ({ path, text }: { path: string; text: string }) =>
  `<li><a href="${path}"><strong>${path}</strong>${text}</a></li>`;
