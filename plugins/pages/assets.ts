import { hash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { vary } from '#plugins/http/headers.ts';
import { isKnown, weakEntityTag } from '#plugins/http/requests/conditions.ts';
import { AppError } from '#src/core/errors.ts';
import { onFirstUse } from '#src/core/kept.ts';

export const wantsPage = (accept = '') => /\btext\/html\b/i.test(accept);

const { resolve } = createRequire(import.meta.url);
/** A file of a package. */
export const packageFile = (name: string, file: string) =>
  join(dirname(resolve(`${name}/package.json`)), file);

interface PageFiles {
  title: string;
  /** What is in the body of the document. */
  body: string;
  /** Styles and scripts of packages, which come before our modules. */
  libraries?: string[];
  /** Modules that several pages use. */
  shared?: string[];
  /** The folder of its own style and modules. Those in folders of it are served beside the others. */
  folder?: string;
}

/** A page without a folder runs no script. Libraries set inline styles and embed fonts; no script is inline. */
const contentPolicy = ({ folder, libraries }: PageFiles) =>
  [
    "default-src 'none'",
    ...(folder ? ["script-src 'self'"] : []),
    libraries ? "style-src 'self' 'unsafe-inline'; font-src 'self' data:" : "style-src 'self'",
    libraries ? "img-src 'self' data:" : 'img-src data:',
    ...(folder ? ["connect-src 'self'"] : []),
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  ].join('; ');

/** What else a browser may do with a page. Responses with data need no such headers. */
const pageHeaders = {
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
};

/**
 * Serves the files of a page below this path, and returns the function that sends the page. Browsers keep the files
 * for a year, because each change of a file changes all URLs. The URLs share a folder, so that modules can import each
 * other by their names.
 */
export function servePage(app: FastifyInstance, path: string, page: PageFiles) {
  const { title, libraries = [], shared = [], folder } = page;
  const common = ['theme.css', ...shared].map(name => join(import.meta.dirname, name));
  const found = folder ? readdirSync(folder, { recursive: true, withFileTypes: true }) : [];
  const own = found.filter(entry => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const files = [...common, ...libraries, ...own];
  // Reads the files at the first request: those of all pages have 6 MB.
  const version = onFirstUse(async () => {
    const contents = await Promise.all(files.map(file => readFile(file)));
    return hash('sha256', Buffer.concat(contents)).slice(0, 12);
  });
  serveFiles(app, path, version, files);
  const headers = { ...pageHeaders, 'content-security-policy': contentPolicy(page) };
  return async (reply: FastifyReply, body = page.body) => {
    const base = `${app.prefix}${path}/${await version()}`;
    const elements = files.map(file => {
      const url = `${base}/${basename(file)}`;
      if (file.endsWith('.css')) return `<link rel="stylesheet" href="${url}">`;
      return `<script ${libraries.includes(file) ? 'defer' : 'type="module"'} src="${url}"></script>`;
    });
    return vary(reply, 'accept')
      .type('text/html; charset=utf-8')
      .headers(headers)
      .serializer(String)
      .send(htmlDocument(title, elements.join('\n'), body));
  };
}

/** Text as it is written in a page, also in an attribute. */
export const escapeHtml = (text: string) =>
  text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`);

const htmlDocument = (title: string, head: string, body: string) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
${head}
<body>
${body}
</body>
</html>
`;

/** Serves files by one route: each route costs every start of a process, and a page has thirty files. */
function serveFiles(app: FastifyInstance, path: string, version: () => Promise<string>, files: string[]) {
  const senders = new Map(files.map(file => [basename(file), makeSender(() => readFile(file))]));
  app.get<{ Params: { version: string; file: string } }>(
    `${path}/:version/:file`,
    { config: { scope: 'public', quiet: true }, schema: { hide: true } },
    async (request, reply) => {
      const { file } = request.params;
      const send = senders.get(file);
      if (!send) throw new AppError('not_found', 'There is nothing at this path.');
      const type = file.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8';
      // While two releases run, no cache may keep a file of the older one under a URL of the newer one.
      const isCurrent = request.params.version === (await version());
      const cacheControl = isCurrent ? 'public, max-age=31536000, immutable' : 'no-cache';
      return send(request, reply.type(type).header('cache-control', cacheControl));
    },
  );
}

const gzipAccepted = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i;
const compress = promisify<Buffer, Buffer>(gzip);

/** Returns a function that sends this content, compressed if the client takes it; a client that has it gets a 304. */
export function makeSender(read: () => Promise<Buffer>) {
  // Reads the content at the first request: most instances never serve a page, and the files of all pages have 6 MB.
  // All requests share it: a thousand requests for one file had a thousand copies.
  const prepare = onFirstUse(async () => {
    const content = await read();
    return { content, tag: weakEntityTag(content), compressed: await compress(content) };
  });
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { content, tag, compressed } = await prepare();
    vary(reply, 'accept-encoding').header('etag', tag);
    if (isKnown(request, tag)) return reply.code(304).send();
    if (!gzipAccepted.test(request.headers['accept-encoding'] ?? '')) return reply.send(content);
    return reply.header('content-encoding', 'gzip').send(compressed);
  };
}
