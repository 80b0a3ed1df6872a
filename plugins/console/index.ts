import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyPluginAsync } from 'fastify';
import { routesOf } from '../http/routes.ts';
import { servePage, sharedFile } from '../pages/assets.ts';

const folder = join(import.meta.dirname, 'app');
const modules = readdirSync(folder).filter(name => name.endsWith('.js'));

const body = `<header>
<h1><a href="/">Triport</a> console</h1>
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

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const route = routesOf('Service');

/** The page for operators. It holds no data: what it shows comes through the public API, with the key of its reader. */
export const operatorConsole: FastifyPluginAsync = async app => {
  const send = servePage(app, '/console', {
    title: 'Triport console',
    body,
    policy,
    styles: [join(import.meta.dirname, 'style.css')],
    modules: [sharedFile('key.js'), ...modules.map(name => join(folder, name))],
  });
  app.get(
    '/console',
    { ...route('getConsole', 'The console for operators', 'public', { hide: true }), logLevel: 'warn' },
    async (_request, reply) => send(reply),
  );
};
