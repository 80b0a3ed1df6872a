import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';

export interface Span {
  /** The process that sent it. */
  service: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  attributes: { key: string; value: { stringValue?: string } }[];
}

/** A collector of traces by OTLP over HTTP, as the real ones listen on port 4318. */
export async function openCollector(t: Test) {
  const spans: Span[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    for (const { resource, scopeSpans } of JSON.parse(text).resourceSpans) {
      const named = resource.attributes.find(({ key }: { key: string }) => key === 'service.name');
      const service = named.value.stringValue;
      for (const scope of scopeSpans) spans.push(...scope.spans.map((span: Span) => ({ ...span, service })));
    }
    response.setHeader('content-type', 'application/json').end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });

  /** The spans of one trace, once one with this name has arrived. */
  async function spansOf(traceId: string, last: string): Promise<Span[]> {
    for (const end = Date.now() + 20_000; Date.now() < end; await sleep(50)) {
      const own = spans.filter(span => span.traceId === traceId);
      if (own.some(({ name }) => name === last)) return own;
    }
    throw new Error(
      `No span ${last} in ${JSON.stringify(spans.map(({ name, traceId }) => [name, traceId]))}`,
    );
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, spansOf };
}
