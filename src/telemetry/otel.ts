import { hostname } from 'node:os';
import { SpanKind } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { PgliteSession } from 'drizzle-orm/pglite';
import { PostgresJsSession } from 'drizzle-orm/postgres-js';
import { tracedInside, turnOn } from './tracing.ts';

/**
 * Starts to make traces and to send them. This is the only file that loads the kit, and it is loaded only when traces
 * are wanted. The standard `OTEL_*` variables are read by the kit itself. Returns what sends the rest and ends it.
 */
export function startTracing(version: string): () => Promise<void> {
  const service = resourceFromAttributes({
    'service.name': 'triport',
    'service.version': version,
    // Servers and workers have one name: this tells which of them it was.
    'service.instance.id': `${hostname()}:${process.pid}`,
  });
  const provider = new NodeTracerProvider({
    resource: defaultResource()
      .merge(service)
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  provider.register();
  turnOn();
  for (const session of [PgliteSession, PostgresJsSession]) traceStatements(session.prototype);
  // Whether the collector took the last ones is no matter of an orderly end.
  return () => provider.shutdown().catch(() => {});
}

interface Preparing {
  prepareQuery(query: { sql: string }, ...rest: unknown[]): { execute(values?: object): Promise<unknown> };
}

/** Both drivers send every statement through this one function, and it has no hook that sees the end. */
function traceStatements(sessions: unknown): void {
  const session = sessions as Preparing;
  const { prepareQuery } = session;
  session.prepareQuery = function (query, ...rest) {
    const statement = prepareQuery.call(this, query, ...rest);
    const { execute } = statement;
    const name = nameOf(query.sql);
    // The text has places for its values, not the values.
    const attributes = { 'db.system.name': 'postgresql', 'db.query.text': query.sql };
    // Not bound: `prepared` makes copies of a statement, each with a connection of its own.
    statement.execute = function (values) {
      return tracedInside(name, { kind: SpanKind.CLIENT, attributes }, () => execute.call(this, values));
    };
    return statement;
  };
}

/** What a statement does first, and to which table: `insert webhook_events`. Functions are no tables. */
export function nameOf(text: string): string {
  const found = /\b(insert into|update|delete from|from)\s+"?([\w.]+)"?(?![\w.(])/i.exec(text);
  if (!found) return text.trimStart().split(/\s/, 1)[0] || 'statement';
  const [, words = '', table = ''] = found;
  const [verb = ''] = words.toLowerCase().split(' ');
  return `${verb === 'from' ? 'select' : verb} ${table}`;
}
