import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Test } from 'tap';
import { serve } from './serve.ts';

/** What a proxy does with the answer of the service. */
type Fault = (answer: Response | undefined, response: ServerResponse) => void;

/** Puts a proxy in front of a service. The answer to each request gets the next fault; `count` counts requests. */
export async function serveBehind(t: Test, origin: string, faults: Fault[]) {
  let requests = 0;
  const { url } = await serve(t, async (request, response) => {
    const fault = faults[requests++];
    fault?.(await forward(origin, request), response);
  });
  return { origin: url, count: () => requests };
}

async function forward(origin: string, request: IncomingMessage): Promise<Response> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const { 'content-type': type = '', 'idempotency-key': key } = request.headers;
  const headers = { 'content-type': type, ...(key !== undefined && { 'idempotency-key': String(key) }) };
  const body = chunks.length > 0 ? Buffer.concat(chunks) : null;
  return fetch(`${origin}${request.url}`, { method: request.method ?? 'GET', headers, body });
}

export const lose: Fault = (_, response) => response.destroy();
export const cut: Fault = (_, response) => {
  response.writeHead(201, { 'Content-Length': '100' }).write('{');
  setTimeout(() => response.destroy(), 50);
};
export const refuse: Fault = (_, response) => response.writeHead(503, { 'Retry-After': '0' }).end();
export const fail: Fault = (_, response) => response.writeHead(502).end();
export const pass: Fault = async (answer, response) => {
  const headers = Object.fromEntries(answer?.headers ?? []);
  delete headers['content-encoding'];
  response.writeHead(answer?.status ?? 500, headers).end(await answer?.text());
};
