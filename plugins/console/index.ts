import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyPluginAsync } from 'fastify';
import { sendHtml } from '../http/headers.ts';
import { routesOf } from '../http/routes.ts';
import { serveAssets, themeFile } from '../pages/assets.ts';
import { fillTemplate } from '../pages/template.ts';

const here = (...names: string[]) => join(import.meta.dirname, ...names);
const modules = readdirSync(here('app')).filter(name => name.endsWith('.js'));
const files = {
  'theme.css': themeFile,
  'style.css': here('style.css'),
  ...Object.fromEntries(modules.map(name => [name, here('app', name)])),
};

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const route = routesOf('Service');

/** The page for operators. It holds no data: what it shows comes through the public API, with the key of its reader. */
export const operatorConsole: FastifyPluginAsync = async app => {
  const urls = await serveAssets(app, '/console', files);
  const page = fillTemplate(await readFile(here('page.html'), 'utf8'), urls);
  app.get(
    '/console',
    { ...route('getConsole', 'The console for operators', 'public', { hide: true }), logLevel: 'warn' },
    async (_request, reply) => sendHtml(reply, page, policy),
  );
};
