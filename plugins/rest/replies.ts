import { Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { linkHeader, type Page } from '../../src/core/pages.ts';

/** The schema of an answer without a body. */
export const deleted = Type.Unsafe<void>({ type: 'null', description: 'Deleted.' });

/** The path alone: a request line may hold a whole URL, and then a host that the client made up. */
const pathOf = (request: FastifyRequest) => new URL(request.url, 'http://localhost').pathname;

/** A page of a list, with the links to its neighbours. */
export function sendPage<T>(request: FastifyRequest, reply: FastifyReply, page: Page<T>): Page<T> {
  reply.header('link', linkHeader(pathOf(request), request.query as object, page.meta));
  return page;
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
