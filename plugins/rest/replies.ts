import { Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type CursorPage, cursorsAround, linkHeader, type Page, pagesAround } from '../../src/core/pages.ts';

/** The schema of an answer without a body. */
export const deleted = Type.Unsafe<void>({ type: 'null', description: 'Deleted.' });

/** The path alone: a request line may hold a whole URL, and then a host that the client made up. */
const pathOf = (request: FastifyRequest) => new URL(request.url, 'http://localhost').pathname;

/** A page of a list, with the links to its neighbours. */
export function sendPage<T>(request: FastifyRequest, reply: FastifyReply, page: Page<T>): Page<T> {
  setLink(request, reply, pagesAround(request.query as object, page.meta));
  return page;
}

/** The same for a list that goes by cursor. */
export function sendCursorPage<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  page: CursorPage<T>,
): CursorPage<T> {
  setLink(request, reply, cursorsAround(request.query as object, page.meta));
  return page;
}

function setLink(
  request: FastifyRequest,
  reply: FastifyReply,
  neighbours: Parameters<typeof linkHeader>[1],
): void {
  const link = linkHeader(pathOf(request), neighbours);
  if (link !== undefined) reply.header('link', link);
}

/** A new record, with the place where it can be read from now on. */
export function sendCreated<T extends { id: string }>(
  request: FastifyRequest,
  reply: FastifyReply,
  record: T,
): T {
  reply.code(201).header('location', `${pathOf(request)}/${record.id}`);
  return record;
}
