import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { sendHtml, toolPolicy } from '../../http/headers.ts';

const { resolve } = createRequire(import.meta.url);
const inPackage = (name: string, file: string) => join(dirname(resolve(`${name}/package.json`)), file);
const here = (name: string) => join(import.meta.dirname, name);

/** GraphiQL 3 is the last with a browser bundle; it needs React 18. */
const files: Record<string, string> = {
  'react.js': inPackage('react', 'umd/react.production.min.js'),
  'react-dom.js': inPackage('react-dom', 'umd/react-dom.production.min.js'),
  'graphiql.js': inPackage('graphiql', 'graphiql.min.js'),
  'graphiql.css': inPackage('graphiql', 'graphiql.min.css'),
  'start.js': here('start.js'),
};

/** Serves the files of the browser tool, and returns the function that sends its page. */
export async function makeTool(app: FastifyInstance) {
  for (const [name, path] of Object.entries(files)) serve(app, `/graphql/tool/${name}`, path);
  const page = await readFile(here('page.html'), 'utf8');
  return (reply: FastifyReply) => sendHtml(reply, page, toolPolicy);
}

function serve(app: FastifyInstance, url: string, path: string): void {
  let compressed: Promise<Buffer> | undefined;
  app.get(
    url,
    { config: { scope: 'public', rateLimit: false }, schema: { hide: true } },
    async (_request, reply) => {
      // Compressed on first use: most instances never serve the tool.
      compressed ??= readFile(path).then(promisify(gzip));
      return reply
        .type(path.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8')
        .headers({ 'content-encoding': 'gzip', 'cache-control': 'public, max-age=3600' })
        .send(await compressed);
    },
  );
}
