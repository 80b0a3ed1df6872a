import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply } from 'fastify';
import { ref } from '../../schemas/common.ts';
import { Home } from '../../schemas/service.ts';
import { counterOf } from '../../src/services/counts.ts';
import type { Kind } from '../../src/services/kinds.ts';
import { sendHtml, vary, wantsPage } from '../http/headers.ts';
import { routesOf } from '../http/routes.ts';
import { escapeHtml, fillTemplate } from '../pages/template.ts';

interface Options {
  version: string;
  resources: { name: string }[];
  kinds: Kind[];
}

const route = routesOf('Service');
const description = 'One application backend: REST, GraphQL and signed payment webhooks over the same data.';
const linksTo = (resources: Options['resources']) => [
  { name: 'docs', path: '/docs', text: 'Read the API and try it in the browser' },
  { name: 'openapi', path: '/docs/json', text: 'The OpenAPI 3.1 document' },
  { name: 'graphql', path: '/api/graphql', text: 'The same data over GraphQL, with a tool to explore it' },
  ...resources.map(({ name }) => ({ name, path: `/api/${name}`, text: `The ${name}, as JSON` })),
  { name: 'health', path: '/health/ready', text: 'Whether the service is ready' },
];

const template = readFileSync(new URL('page.html', import.meta.url), 'utf8');
const style = /<style>([\s\S]*)<\/style>/.exec(template)?.[1] ?? '';
const styleHash = createHash('sha256').update(style).digest('base64');
const policy = `default-src 'none'; img-src data:; style-src 'sha256-${styleHash}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;

export const home: FastifyPluginAsyncTypebox<Options> = async (app, { version, resources, kinds }) => {
  const links = linksTo(resources);
  const countRecords = counterOf(kinds);
  app.get(
    '/',
    route('getHome', 'Describe the service', 'public', {
      description: 'JSON, or a page if `Accept` includes `text/html`.',
      response: { 200: ref(Home) },
    }),
    async (request, reply) => {
      // Only callers who may read learn how much is stored.
      const counts = request.actor.scopes.includes('read') ? await countRecords(request.context) : undefined;
      if (!wantsPage(request.headers.accept)) {
        vary(reply, 'accept');
        const paths = Object.fromEntries(links.map(({ name, path }) => [name, path]));
        return { name: 'triport', version, description, links: paths, ...(counts && { counts }) };
      }
      const page = fillTemplate(template, {
        version,
        description,
        origin: escapeHtml(`${request.protocol}://${request.host}`),
        counts: Object.entries(counts ?? {})
          .map(countHtml)
          .join(''),
        links: links.map(linkHtml).join(''),
      });
      return sendHtml(reply as FastifyReply, page, policy);
    },
  );
};

const countHtml = ([name, count]: [string, number]) =>
  `<div><dt>${name}</dt><dd>${count.toLocaleString('en')}</dd></div>`;
const linkHtml = ({ path, text }: { path: string; text: string }) =>
  `<li><a href="${path}"><strong>${path}</strong>${text}</a></li>`;
