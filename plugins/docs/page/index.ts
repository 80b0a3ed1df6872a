import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { toolPolicy } from '../../http/headers.ts';
import { servePage, sharedFile } from '../../pages/assets.ts';

const { resolve } = createRequire(import.meta.url);
const ofSwaggerUi = (file: string) => join(dirname(resolve('@fastify/swagger-ui')), 'static', file);
const here = (file: string) => join(import.meta.dirname, file);

/** Serves the files of the page, and returns the function that sends it. */
export const makePage = (app: FastifyInstance) =>
  servePage(app, '/docs/page', {
    title: 'Triport API',
    body: '<div id="page"></div>',
    policy: toolPolicy,
    styles: [ofSwaggerUi('swagger-ui.css'), here('style.css')],
    scripts: [ofSwaggerUi('swagger-ui-bundle.js')],
    modules: [sharedFile('repair.js'), here('plugin.js'), here('start.js')],
  });
