import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../../schemas/common.ts';
import { Home } from '../../schemas/service.ts';
import { countRecords } from '../../src/services/counts.ts';
import { varying } from '../http/headers.ts';

const description =
  'One application backend with three doors on the same data: REST, GraphQL and signed payment webhooks.';
const links = [
  { name: 'docs', path: '/docs', text: 'Read the API and try it in the browser' },
  { name: 'openapi', path: '/docs/json', text: 'The OpenAPI 3.1 document' },
  { name: 'graphql', path: '/api/graphql', text: 'The same data by GraphQL, with a tool to explore it' },
  { name: 'users', path: '/api/users', text: 'The users, as JSON' },
  { name: 'posts', path: '/api/posts', text: 'The posts, as JSON' },
  { name: 'subscriptions', path: '/api/subscriptions', text: 'What customers have paid for, as JSON' },
  { name: 'health', path: '/health/ready', text: 'Whether the service is ready' },
];

const template = readFileSync(new URL('page.html', import.meta.url), 'utf8');
const style = /<style>([\s\S]*)<\/style>/.exec(template)?.[1] ?? '';
const policy = `default-src 'none'; img-src data:; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;

/** The first page: HTML for a browser, the same facts as JSON for a client. */
export const home: FastifyPluginAsyncTypebox<{ version: string }> = async (app, { version }) => {
  app.get(
    '/',
    {
      config: { scope: 'public' },
      schema: {
        tags: ['Service'],
        operationId: 'getHome',
        summary: 'What this is and where its parts are',
        description: 'JSON, or a page where `Accept` asks for `text/html`.',
        response: { 200: ref(Home) },
      },
    },
    async (request, reply) => {
      // Where keys are asked for, how much is stored is nobody's business here.
      const counts = request.actor.scopes.includes('read') ? await countRecords(request.context) : undefined;
      reply.header('vary', varying(reply));
      if (!request.headers.accept?.includes('text/html'))
        return {
          name: 'triport',
          version,
          description,
          links: Object.fromEntries(links.map(({ name, path }) => [name, path])),
          ...(counts && { counts }),
        };
      const page = fill({
        version,
        description,
        counts: counts ?? {},
        origin: `${request.protocol}://${request.host}`,
      });
      return reply
        .type('text/html; charset=utf-8')
        .header('content-security-policy', policy)
        .serializer(String)
        .send(page as never);
    },
  );
};

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, sign => `&#${sign.charCodeAt(0)};`);

function fill({
  counts,
  ...texts
}: {
  version: string;
  description: string;
  origin: string;
  counts: Record<string, number>;
}): string {
  const parts: Record<string, string> = {
    ...Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, escapeHtml(text)])),
    counts: Object.entries(counts)
      .map(([name, count]) => `<div><dt>${name}</dt><dd>${count.toLocaleString('en')}</dd></div>`)
      .join(''),
    links: links
      .map(({ path, text }) => `<li><a href="${path}"><strong>${path}</strong>${text}</a></li>`)
      .join(''),
  };
  return template.replace(/\{\{(\w+)\}\}/g, (_, name: string) => parts[name] ?? '');
}
