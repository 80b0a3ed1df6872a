import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { sendHtml, toolPolicy } from '../../http/headers.ts';
import { serveAssets, themeFile } from '../../pages/assets.ts';
import { fillTemplate } from '../../pages/template.ts';

const { resolve } = createRequire(import.meta.url);
const ofSwaggerUi = (file: string) => join(dirname(resolve('@fastify/swagger-ui')), 'static', file);
const here = (file: string) => join(import.meta.dirname, file);

const files = {
  'swagger-ui-bundle.js': ofSwaggerUi('swagger-ui-bundle.js'),
  'swagger-ui.css': ofSwaggerUi('swagger-ui.css'),
  'theme.css': themeFile,
  'style.css': here('style.css'),
  'plugin.js': here('plugin.js'),
  'start.js': here('start.js'),
};

/** Serves the files of the page, and returns the function that sends it. */
export async function makePage(app: FastifyInstance) {
  const urls = await serveAssets(app, '/docs/page', files);
  const page = fillTemplate(await readFile(here('page.html'), 'utf8'), urls);
  return (reply: FastifyReply) => sendHtml(reply, page, toolPolicy);
}
