import { join } from 'node:path';
import type { FastifyPluginAsync } from 'fastify';
import { escapeHtml, servePage } from '#plugins/pages/assets.ts';
import { serviceTitle } from '#schemas/name.ts';

const body = `<header>
<h1><a href="/">${escapeHtml(serviceTitle)}</a> console</h1>
<nav aria-label="Views">
<a href="#events">Events</a>
<a href="#customers">Customers</a>
<a href="#users">Users</a>
<a href="#keys">Keys</a>
<a href="#audit">Audit</a>
</nav>
<p id="backlog">
Waiting <a href="#events?status=received" id="received"></a>
Retrying <a href="#events?status=failed" id="failed"></a>
Dead <a href="#events?status=dead" id="dead"></a>
Oldest waits <span id="oldest"></span>
</p>
<button id="forget" type="button" hidden>Forget the key</button>
</header>
<main id="view" tabindex="-1"></main>
<noscript>The console needs JavaScript.</noscript>`;

/** The page for operators. It holds no data: what it shows comes through the public API, with the key of its reader. */
export const operatorConsole: FastifyPluginAsync = async app => {
  const folder = join(import.meta.dirname, 'app');
  const send = servePage(app, '/console', {
    title: `${serviceTitle} console`,
    body,
    shared: ['key.js'],
    folder,
  });
  const route = { config: { scope: 'public', rateLimit: false }, schema: { hide: true } } as const;
  app.get('/console', route, async (_request, reply) => send(reply));
};
