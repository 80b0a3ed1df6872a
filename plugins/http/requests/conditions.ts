import { crc32 } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Condition } from '#src/core/conditions.ts';
import { invalid } from '#src/core/errors.ts';

// Conditional requests (RFC 9110, section 13). Dates are ignored: records may change more than once in a second.

/** The tag of a record. Without a version it is a text that no client can send. */
export const entityTag = (version?: number) => (version === undefined ? '' : `"${version}"`);

/**
 * The tag of a representation without a version, made from its bytes. It is weak, because compression may change the
 * bytes.
 */
export const weakEntityTag = (body: string | Buffer) => `W/"${crc32(body).toString(36)}-${body.length}"`;

/**
 * Says which version of a record the response shows. Balancers and caches must not compress it: that makes the tag
 * weak, and `If-Match` never matches a weak one.
 */
export function setTag(reply: FastifyReply, version: number): string {
  const tag = entityTag(version);
  reply.headers({ etag: tag, 'cache-control': `${reply.getHeader('cache-control')}, no-transform` });
  return tag;
}

/** What `If-Match` and `If-None-Match` require of the record that a request writes. */
export function sentCondition({ request }: FastifyReply): Condition {
  const [match, noneMatch] = [ifMatch(request), sentNoneMatch(request)];
  const isExcluded = (version?: number) => noneMatch?.some(sent => isSame(sent, entityTag(version)));
  return version => match?.(version) ?? (isExcluded(version) ? 'If-None-Match' : undefined);
}

/** What `If-Match` requires. A weak tag never matches: it may stand for several states. */
export function ifMatch({ headers }: Pick<FastifyRequest, 'headers'>): Condition | undefined {
  const tags = readTags('If-Match', headers['if-match']);
  return (
    tags &&
    (version => (tags.some(tag => tag === '*' || tag === entityTag(version)) ? undefined : 'If-Match'))
  );
}

/** Whether the client has this representation already. */
export const isKnown = (request: FastifyRequest, tag: string) =>
  sentNoneMatch(request)?.some(sent => isSame(sent, tag)) ?? false;

const isSame = (sent: string, tag: string) => sent === '*' || withoutWeak(sent) === withoutWeak(tag);
const withoutWeak = (tag: string) => tag.replace(/^W\//, '');

const tag = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`;
// Elements of a list may be empty.
const tags = new RegExp(String.raw`^[\t ,]*(?:${tag}[\t ]*(?:,[\t ,]*|$))+$`);
const eachTag = new RegExp(tag, 'g');

const sentNoneMatch = ({ headers }: FastifyRequest) => readTags('If-None-Match', headers['if-none-match']);

/** The entity tags in a header, or `*`. */
function readTags(name: string, header: string | undefined): string[] | undefined {
  if (header === undefined) return undefined;
  if (header.trim() === '*') return ['*'];
  if (tags.test(header)) return header.match(eachTag) ?? [];
  const message = `of ${name} must be entity tags in double quotes, or *`;
  throw invalid([{ in: 'header', path: `/${name.toLowerCase()}`, message }]);
}
