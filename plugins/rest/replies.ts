import { Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { writeContext } from '#plugins/http/context.ts';
import { ifMatch, isKnown, sentCondition, setTag, weakEntityTag } from '#plugins/http/requests/conditions.ts';
import { readKey } from '#plugins/http/requests/idempotency.ts';
import { pathOfRoute, requestTarget } from '#plugins/http/routes.ts';
import type { Context } from '#src/access/context.ts';
import { type Condition, requireVersion } from '#src/core/conditions.ts';
import { type Place, withIdempotencyKey } from '#src/records/idempotency.ts';
import {
  type CursorPage,
  cursorsAround,
  type ListPage,
  linkHeader,
  pagesAround,
} from '#src/records/lists/pages.ts';

export const deleted = Type.Unsafe<void>({ type: 'null', description: 'Deleted.' });

const json = 'application/json; charset=utf-8';

/** Sends a page with its `Link` header. A list has no version that `If-Match` could name. */
export function sendPage<P extends ListPage<unknown> | CursorPage<unknown>>(
  reply: FastifyReply,
  page: P,
  path = pathOfRoute(reply.request),
): P | FastifyReply {
  const { request } = reply;
  const { meta } = page;
  const query = request.query as object;
  const link = linkHeader(path, 'total' in meta ? pagesAround(query, meta) : cursorsAround(query, meta));
  if (link !== undefined) reply.header('link', link);
  requireVersion(ifMatch(request));
  const body = String(reply.serialize(page));
  const tag = weakEntityTag(body);
  reply.header('etag', tag);
  return isKnown(request, tag) ? reply.code(304).send() : reply.type(json).send(body);
}

type Versioned = { version: number };

/** Sends a record that was read. One that the client has already is not even serialized. */
export function sendRecord<T extends Versioned>(reply: FastifyReply, record: T): T | FastifyReply {
  const { request } = reply;
  const tag = setTag(reply, record.version);
  requireVersion(ifMatch(request), record.version);
  return isKnown(request, tag) ? reply.code(304).send() : record;
}

/** Changes a record if its state allows that, and sends it. */
export async function sendChanged<T extends Versioned>(
  reply: FastifyReply,
  write: (context: Context, condition: Condition) => Promise<T>,
): Promise<T | FastifyReply> {
  const record = await write(writeContext(reply.request), sentCondition(reply));
  setTag(reply, record.version);
  if (!isMinimal(reply)) return record;
  return reply.code(204).header('location', requestTarget(reply.request).pathname).send();
}

/** Creates a record, and sends it with its path in `Location`. */
export const sendCreated = <T extends { id: string }>(
  reply: FastifyReply,
  create: (context: Context) => Promise<T>,
  path = pathOfRoute(reply.request),
) => sendResult(reply.code(201), create, ({ id }) => `${path}/${id}`);

/**
 * Acts, and sends the result, or that of the first request with the same `Idempotency-Key`. A batch waits for its place
 * behind the wait for its key.
 */
export async function sendResult<T>(
  reply: FastifyReply,
  act: (context: Context) => Promise<T>,
  locationOf: (result: T) => string | null = () => null,
  inPlace?: Place,
): Promise<FastifyReply> {
  const { config } = reply.request;
  const context = writeContext(reply.request);
  // Checks the conditions of the request; the operations of a batch have their own.
  if (!inPlace) requireVersion(sentCondition(reply));
  const keyed = readKey(reply.request);
  const answer = async (context: Context) => {
    const result = await act(context);
    return { status: reply.statusCode, location: locationOf(result), body: String(reply.serialize(result)) };
  };
  const now = () => answer(context);
  const { status, location, body, replayed } = keyed
    ? await withIdempotencyKey(context, keyed, answer, inPlace)
    : { ...(await (inPlace?.(now) ?? now())), replayed: false };
  if (replayed) reply.header('idempotency-replayed', 'true');
  if (location !== null) reply.header('location', location);
  // A result with a version is a new record.
  if (config.versioned) setTag(reply, 1);
  return config.versioned && isMinimal(reply)
    ? reply.code(204).send()
    : reply.code(status).type(json).send(body);
}

/** Deletes something, if its state allows it. */
export async function sendDeleted(
  reply: FastifyReply,
  remove: (context: Context, condition: Condition) => Promise<void>,
): Promise<FastifyReply> {
  await remove(writeContext(reply.request), sentCondition(reply));
  return reply.code(204).send();
}

/** Says whether the client wants no body, and names the preference that applies in the response. */
function isMinimal(reply: FastifyReply): boolean {
  if (reply.request.headers.prefer === undefined) return false;
  const preferred = preferredReturn(reply.request);
  if (preferred) reply.header('preference-applied', `return=${preferred}`);
  return preferred === 'minimal';
}

const returnPreference = /(?:^|,)[\t ]*return[\t ]*=[\t ]*([\w-]+)[\t ]*(?:[,;]|$)/i;

/** What the client wants a write to return (RFC 7240). The first preference counts; if unknown, none does. */
function preferredReturn({ headers }: FastifyRequest): 'minimal' | 'representation' | undefined {
  const [, wanted] = returnPreference.exec(withoutQuotes(String(headers.prefer ?? ''))) ?? [];
  const known = wanted?.toLowerCase();
  return known === 'minimal' || known === 'representation' ? known : undefined;
}

/**
 * Unquotes quoted words, and removes other quoted text, which may look like a preference. An unclosed quote takes the
 * rest of the header: searching for the end of each of thousands took 0.2 s.
 */
const withoutQuotes = (header: string) =>
  header.replace(/"((?:[^"\\]|\\.?)*)("?)/g, (_, text: string, end: string) =>
    end && /^[\w-]*$/.test(text) ? text : '',
  );
