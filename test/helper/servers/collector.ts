import type { Test } from 'tap';
import { until } from '#test/rig/process.ts';
import { serve } from './serve.ts';

export interface Span {
  /** The process that sent it. */
  service: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  attributes: { key: string; value: { stringValue?: string } }[];
}

/** Opens a collector of traces by OTLP over HTTP, as the real ones listen on port 4318. */
export async function openCollector(t: Test) {
  const spans: Span[] = [];
  const { url } = await serve(t, async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    for (const { resource, scopeSpans } of JSON.parse(text).resourceSpans) {
      const named = resource.attributes.find(({ key }: { key: string }) => key === 'service.name');
      const service = named.value.stringValue;
      for (const scope of scopeSpans) spans.push(...scope.spans.map((span: Span) => ({ ...span, service })));
    }
    response.setHeader('content-type', 'application/json').end('{}');
  });

  /** Waits for a span with this name, and returns the spans of its trace. */
  async function spansOf(traceId: string, last: string): Promise<Span[]> {
    const own = () => spans.filter(span => span.traceId === traceId);
    await until(`there is a span ${last}`, () => own().some(({ name }) => name === last));
    return own();
  }
  return { url, spans, spansOf };
}
