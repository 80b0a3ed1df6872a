import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { onFirstUse } from '../../src/core/kept.ts';
import { sendHtml, vary } from '../http/headers.ts';
import { isKnown, weakTagOf } from '../http/requests/conditions.ts';

/** A file that several pages use. */
export const sharedFile = (name: 'key.js' | 'repair.js' | 'theme.css') => join(import.meta.dirname, name);

const { resolve } = createRequire(import.meta.url);
/** A file of a package. */
export const packageFile = (name: string, file: string) =>
  join(dirname(resolve(`${name}/package.json`)), file);

interface Page {
  title: string;
  /** What is in the body of the document. */
  body: string;
  policy: string;
  styles: string[];
  /** Scripts of others, which come before our modules. */
  scripts?: string[];
  modules?: string[];
}

/**
 * Serves the files of a page below this path, and returns the function that sends the page. Browsers keep the files
 * for a year: each change of a file changes all URLs, which share a folder, so that modules can import each other by
 * their names.
 */
export function servePage(app: FastifyInstance, path: string, page: Page) {
  const { title, scripts = [], modules = [], policy } = page;
  const styles = [sharedFile('theme.css'), ...page.styles];
  const files = [...styles, ...scripts, ...modules];
  // Not at the start: the files of all pages have 6 MB.
  const version = onFirstUse(async () => {
    const contents = await Promise.all(files.map(file => readFile(file)));
    return hash('sha256', Buffer.concat(contents)).slice(0, 12);
  });
  for (const file of files) serveFile(app, `${path}/:version/${basename(file)}`, version, file);
  return async (reply: FastifyReply, body = page.body) => {
    const base = `${app.prefix}${path}/${await version()}`;
    const head = [
      ...styles.map(file => `<link rel="stylesheet" href="${base}/${basename(file)}">`),
      ...scripts.map(file => `<script defer src="${base}/${basename(file)}"></script>`),
      ...modules.map(file => `<script type="module" src="${base}/${basename(file)}"></script>`),
    ];
    return sendHtml(reply, documentOf(title, head.join('\n'), body), policy);
  };
}

const documentOf = (title: string, head: string, body: string) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
${head}
<body>
${body}
</body>
</html>
`;

function serveFile(app: FastifyInstance, url: string, version: () => Promise<string>, file: string): void {
  const send = sendCompressed(() => readFile(file));
  const type = file.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8';
  app.get<{ Params: { version: string } }>(
    url,
    { config: { scope: 'public', rateLimit: false, quiet: true }, schema: { hide: true } },
    async (request, reply) => {
      // While two releases run, the older must not have its file kept under the newer's URL.
      const isCurrent = request.params.version === (await version());
      const cacheControl = isCurrent ? 'public, max-age=31536000, immutable' : 'no-cache';
      return send(request, reply.type(type).header('cache-control', cacheControl));
    },
  );
}

const gzipAccepted = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i;

const acceptsGzip = ({ headers }: FastifyRequest) => gzipAccepted.test(headers['accept-encoding'] ?? '');
export const compress = promisify<Buffer | string, Buffer>(gzip);

/** Returns a function that sends this content, compressed if the client takes it. */
function sendCompressed(read: () => Promise<Buffer>) {
  let compressed: Buffer | undefined;
  return async (request: FastifyRequest, reply: FastifyReply) => {
    vary(reply, 'accept-encoding');
    if (!acceptsGzip(request)) return reply.send(await read());
    // On first use: most instances never serve a page.
    compressed ??= await compress(await read());
    return reply.header('content-encoding', 'gzip').send(compressed);
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
