import { crc32 } from 'node:zlib';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import type { Condition } from '../../../src/core/conditions.ts';
import { AppError, invalid } from '../../../src/core/errors.ts';

/**
 * The conditions of requests (RFC 9110, section 13). Times are ignored: records change more often than once a second.
 */
export default fp(async app => {
  app.addHook('onRoute', route => {
    if (route.method === 'HEAD') route.onSend = [route.onSend ?? [], withoutLength].flat();
    if (isUntagged(route)) route.preHandler = [route.preHandler ?? [], checkUntagged].flat();
  });
});

/** Fastify gives the response to a HEAD the length 0, but in a 304 that would be the length of the 200. */
async function withoutLength(_: FastifyRequest, reply: FastifyReply) {
  if (reply.statusCode === 304) reply.removeHeader('content-length');
}

/** The tag of a record. */
export const tagOf = (version: number) => `"${version}"`;

/**
 * The tag of a representation without a version, made from its bytes. It is weak, because compression may change the
 * bytes.
 */
export const weakTagOf = (body: string | Buffer) => `W/"${crc32(body).toString(36)}-${body.length}"`;

/**
 * Says which version of a record the response shows. Balancers and caches must not compress it: that makes the tag
 * weak, and `If-Match` never matches a weak one.
 */
export function setTag(reply: FastifyReply, version: number): string {
  const tag = tagOf(version);
  reply.headers({ etag: tag, 'cache-control': `${reply.getHeader('cache-control')}, no-transform` });
  return tag;
}

/** What `If-Match` and `If-None-Match` require of the record that a request writes. */
export function conditionOf({ request }: FastifyReply): Condition {
  const [match, noneMatch] = [ifMatch(request), readTags(request, 'If-None-Match')];
  const isExcluded = (version: number) => noneMatch?.some(sent => isSame(sent, tagOf(version)));
  return version => match?.(version) ?? (isExcluded(version) ? 'If-None-Match' : undefined);
}

/** A weak tag never matches: it may stand for several states. */
export function ifMatch(request: FastifyRequest): Condition | undefined {
  const tags = readTags(request, 'If-Match');
  return (
    tags && (version => (tags.some(tag => tag === '*' || tag === tagOf(version)) ? undefined : 'If-Match'))
  );
}

/** Whether a REST route writes without returning a version: POSTs, and deletions of records that have none. */
export const isUntagged = ({ url, method, config = {} }: RouteOptions) =>
  url.startsWith('/api/') &&
  // Not a method that the path lacks, and neither GraphQL nor a webhook.
  config.scope !== undefined &&
  config.transport === undefined &&
  (method === 'POST' || (method === 'DELETE' && !config.versioned));

/** Refuses tags that something without a strong one can never match: only `*` matches it, because it exists. */
export function checkUntaggedMatch(request: FastifyRequest): void {
  if (!(readTags(request, 'If-Match') ?? ['*']).includes('*')) throw excluded('If-Match');
}

/** The same before a write, which `If-None-Match: *` excludes, too. */
async function checkUntagged(request: FastifyRequest): Promise<void> {
  checkUntaggedMatch(request);
  if (readTags(request, 'If-None-Match')?.includes('*')) throw excluded('If-None-Match');
}

const excluded = (name: string) =>
  new AppError('version_mismatch', `${name} excludes every state of this path.`);

/** Whether the client has this representation already. */
export const isKnown = (request: FastifyRequest, tag: string) =>
  readTags(request, 'If-None-Match')?.some(sent => isSame(sent, tag)) ?? false;

const isSame = (sent: string, tag: string) => sent === '*' || strongOf(sent) === strongOf(tag);
const strongOf = (tag: string) => tag.replace(/^W\//, '');

const tag = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`;
// Elements of a list may be empty.
const tags = new RegExp(String.raw`^[\t ,]*(?:${tag}[\t ]*(?:,[\t ,]*|$))+$`);
const eachTag = new RegExp(tag, 'g');

/** The entity tags in a header, or `*`. */
function readTags({ headers }: FastifyRequest, name: 'If-Match' | 'If-None-Match'): string[] | undefined {
  const header = headers[name === 'If-Match' ? 'if-match' : 'if-none-match'];
  if (header === undefined) return undefined;
  if (header.trim() === '*') return ['*'];
  if (tags.test(header)) return header.match(eachTag) ?? [];
  const message = `of ${name} must be entity tags in double quotes, or *`;
  throw invalid([{ in: 'header', path: `/${name.toLowerCase()}`, message }]);
}
