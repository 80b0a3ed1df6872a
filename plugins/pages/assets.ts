import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { vary } from '../http/headers.ts';
import { isKnown, weakTagOf } from '../http/requests/conditions.ts';

/** The look that all pages share. */
export const themeFile = join(import.meta.dirname, 'theme.css');

const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
};

/**
 * Serves the files of a page, compressed, and returns their URLs by name. Browsers keep them for a year: each change of a
 * file changes all URLs, which share a folder, so that modules can import each other by their names.
 */
export async function serveAssets(
  app: FastifyInstance,
  folder: string,
  files: Record<string, string>,
): Promise<Record<string, string>> {
  const contents = await Promise.all(Object.values(files).map(path => readFile(path)));
  const version = createHash('sha256').update(Buffer.concat(contents)).digest('hex').slice(0, 12);
  for (const [name, path] of Object.entries(files)) serve(app, `${folder}/:version/${name}`, version, path);
  return Object.fromEntries(
    Object.keys(files).map(name => [name, `${app.prefix}${folder}/${version}/${name}`]),
  );
}

function serve(app: FastifyInstance, url: string, version: string, path: string): void {
  const send = sendCompressed(() => readFile(path));
  app.get<{ Params: { version: string } }>(
    url,
    { config: { scope: 'public', rateLimit: false, quiet: true }, schema: { hide: true } },
    async (request, reply) => {
      // While two releases run, the older must not have its file kept under the newer's URL.
      const isCurrent = request.params.version === version;
      reply
        .type(types[extname(path)] ?? 'application/octet-stream')
        .header('cache-control', isCurrent ? 'public, max-age=31536000, immutable' : 'no-cache');
      return send(request, reply);
    },
  );
}

const gzipAccepted = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i;

export const acceptsGzip = ({ headers }: FastifyRequest) =>
  gzipAccepted.test(headers['accept-encoding'] ?? '');
export const compress = promisify<Buffer | string, Buffer>(gzip);

/** Returns a function that sends this content, compressed if the client takes it. */
export function sendCompressed(read: () => Promise<Buffer>) {
  let compressed: Promise<Buffer> | undefined;
  return async (request: FastifyRequest, reply: FastifyReply) => {
    vary(reply, 'accept-encoding');
    if (!acceptsGzip(request)) return reply.send(await read());
    // On first use: most instances never serve a page.
    compressed ??= read()
      .then(compress)
      .catch(error => {
        compressed = undefined;
        throw error;
      });
    return reply.header('content-encoding', 'gzip').send(await compressed);
  };
}

/** The same for content that changes under its URL, with each release: a client that has it gets a 304. */
export function sendTagged(read: () => Promise<Buffer>) {
  const send = sendCompressed(read);
  let tag: string | undefined;
  return async (request: FastifyRequest, reply: FastifyReply) => {
    tag ??= weakTagOf(await read());
    reply.header('etag', tag);
    return isKnown(request, tag) ? vary(reply, 'accept-encoding').code(304).send() : send(request, reply);
  };
}
