import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { vary } from '../http/headers.ts';
import { targetOf } from '../http/routes.ts';

const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
};

/** Serves a file of a page, compressed, and returns its URL. Browsers keep it for a year: a changed file has another URL. */
export async function serveAsset(app: FastifyInstance, url: string, path: string): Promise<string> {
  const version = createHash('sha256')
    .update(await readFile(path))
    .digest('hex')
    .slice(0, 12);
  let compressed: Promise<Buffer> | undefined;
  app.get(
    url,
    { config: { scope: 'public', rateLimit: false }, schema: { hide: true } },
    async (request, reply) => {
      // While two releases run, the older must not have its file kept under the newer's URL.
      const isCurrent = targetOf(request).searchParams.get('v') === version;
      vary(reply, 'accept-encoding')
        .type(types[extname(path)] ?? 'application/octet-stream')
        .header('cache-control', isCurrent ? 'public, max-age=31536000, immutable' : 'no-cache');
      if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(await readFile(path));
      // On first use: most instances never serve a page.
      compressed ??= readFile(path).then(promisify(gzip));
      return reply.header('content-encoding', 'gzip').send(await compressed);
    },
  );
  return `${app.prefix}${url}?v=${version}`;
}
