import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { build } from '../helper/app.ts';
import { blocksOf } from './handbook.ts';

type Send = (url: string, key: string, init: RequestInit, attempts?: number) => Promise<Response>;
type Fault = (answer: Response | undefined, response: ServerResponse) => void;

/** The function that the guide shows. */
async function sendOfGuide(t: Test): Promise<Send> {
  const folder = mkdtempSync(join(tmpdir(), 'triport-retry-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const block = blocksOf('docs/safe-writes.md').find(({ file }) => file === 'retry.ts');
  const path = join(folder, 'retry.ts');
  writeFileSync(path, block?.text ?? '');
  return (await import(pathToFileURL(path).href)).send;
}

/** A service behind a proxy that treats each request by the next fault. Returns its origin and how many came. */
async function serveBehind(t: Test, origin: string, faults: Fault[]) {
  let requests = 0;
  const server = createServer(async (request, response) => {
    const fault = faults[requests++];
    fault?.(await forward(origin, request), response);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, count: () => requests };
}

async function forward(origin: string, request: IncomingMessage): Promise<Response> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const { 'content-type': type = '', 'idempotency-key': key } = request.headers;
  const headers = { 'content-type': type, ...(key !== undefined && { 'idempotency-key': String(key) }) };
  const body = chunks.length > 0 ? Buffer.concat(chunks) : null;
  return fetch(`${origin}${request.url}`, { method: request.method ?? 'GET', headers, body });
}

const lose: Fault = (_, response) => response.destroy();
const cut: Fault = (_, response) => {
  response.writeHead(201, { 'Content-Length': '100' }).write('{');
  setTimeout(() => response.destroy(), 50);
};
const refuse: Fault = (_, response) => response.writeHead(503, { 'Retry-After': '0' }).end();
const fail: Fault = (_, response) => response.writeHead(502).end();
const pass: Fault = async (answer, response) => {
  const headers = Object.fromEntries(answer?.headers ?? []);
  delete headers['content-encoding'];
  response.writeHead(answer?.status ?? 500, headers).end(await answer?.text());
};

const post = (email: string) => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ name: 'Ada', email }),
});

t.test(
  'the retry loop of docs/safe-writes.md creates one record, however often the answer is lost',
  async t => {
    const send = await sendOfGuide(t);
    const { app, call } = await build(t);
    const service = await app.listen({ port: 0, host: '127.0.0.1' });

    const lossy = await serveBehind(t, service, [lose, cut, refuse, fail, pass]);
    const created = await send(`${lossy.origin}/api/users`, 'key-1', post('ada@example.com'));
    t.equal(created.status, 201);
    t.equal(created.headers.get('idempotency-replayed'), 'true');
    t.equal(lossy.count(), 5);
    const { data } = (await call('GET', '/api/users', 200)).body;
    t.same(data, [await created.json()]);

    const clear = await serveBehind(t, service, [pass, pass]);
    t.equal((await send(`${clear.origin}/api/users`, 'key-2', post('ada@example.com'))).status, 409);
    t.equal(clear.count(), 1, 'an answer that will not change is returned at once');

    const gone = await serveBehind(t, service, [lose, lose, lose]);
    await t.rejects(send(`${gone.origin}/api/users`, 'key-3', post('bea@example.com'), 2));
    t.equal(gone.count(), 2, 'it gives up');
  },
);
