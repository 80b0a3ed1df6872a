import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { sendHtml, toolPolicy } from '../../http/headers.ts';
import { serveAssets, themeFile } from '../../pages/assets.ts';
import { fillTemplate } from '../../pages/template.ts';

const { resolve } = createRequire(import.meta.url);
const inPackage = (name: string, file: string) => join(dirname(resolve(`${name}/package.json`)), file);
const here = (name: string) => join(import.meta.dirname, name);

/** GraphiQL 3 is the last with a browser bundle; it needs React 18. */
const files = {
  'react.js': inPackage('react', 'umd/react.production.min.js'),
  'react-dom.js': inPackage('react-dom', 'umd/react-dom.production.min.js'),
  'graphiql.js': inPackage('graphiql', 'graphiql.min.js'),
  'graphiql.css': inPackage('graphiql', 'graphiql.min.css'),
  'theme.css': themeFile,
  'style.css': here('style.css'),
  'start.js': here('start.js'),
};

/** Serves the files of the browser tool, and returns the function that sends its page. */
export async function makeTool(app: FastifyInstance) {
  const urls = await serveAssets(app, '/graphql/tool', files);
  const page = fillTemplate(await readFile(here('page.html'), 'utf8'), urls);
  return (reply: FastifyReply) => sendHtml(reply, page, toolPolicy);
}
