import { Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type CursorPage, cursorsAround, linkHeader, type Page, pagesAround } from '../../src/core/pages.ts';

type Reply = Pick<FastifyReply, 'request' | 'code' | 'header'>;

export const deleted = Type.Unsafe<void>({ type: 'null', description: 'Deleted.' });

/** The path alone: a request line may be an absolute URL with a host that the client made up. */
const pathOf = (request: FastifyRequest) => new URL(request.url, 'http://localhost').pathname;

/** A page with its `Link` header. */
export function sendPage<P extends Page<unknown> | CursorPage<unknown>>(reply: Reply, page: P): P {
  const { meta } = page;
  const query = reply.request.query as object;
  const link = linkHeader(
    pathOf(reply.request),
    'total' in meta ? pagesAround(query, meta) : cursorsAround(query, meta),
  );
  if (link !== undefined) reply.header('link', link);
  return page;
}

/** A new record, and where it is. */
export function sendCreated<T extends { id: string }>(reply: Reply, record: T): T {
  reply.code(201).header('location', `${pathOf(reply.request)}/${record.id}`);
  return record;
}

/** No body, once the record is deleted. */
export async function sendDeleted(reply: FastifyReply, deletion: Promise<void>) {
  await deletion;
  return reply.code(204).send();
}
