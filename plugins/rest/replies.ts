import { Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type CursorPage, cursorsAround, linkHeader, type Page, pagesAround } from '../../src/core/pages.ts';

export const mergePatch = ['application/json', 'application/merge-patch+json'];

export const deleted = Type.Unsafe<void>({ type: 'null', description: 'Deleted.' });

/** The path alone: a request line may be an absolute URL with a host that the client made up. */
const pathOf = (request: FastifyRequest) => new URL(request.url, 'http://localhost').pathname;

export function sendPage<P extends Page<unknown> | CursorPage<unknown>>(
  request: FastifyRequest,
  reply: FastifyReply,
  page: P,
): P {
  const { meta } = page;
  const query = request.query as object;
  const link = linkHeader(
    pathOf(request),
    'total' in meta ? pagesAround(query, meta) : cursorsAround(query, meta),
  );
  if (link !== undefined) reply.header('link', link);
  return page;
}

export function sendCreated<T extends { id: string }>(
  request: FastifyRequest,
  reply: FastifyReply,
  record: T,
): T {
  reply.code(201).header('location', `${pathOf(request)}/${record.id}`);
  return record;
}

/** No body, once the record is deleted. */
export async function sendDeleted(reply: FastifyReply, deletion: Promise<void>) {
  await deletion;
  return reply.code(204).send();
}
