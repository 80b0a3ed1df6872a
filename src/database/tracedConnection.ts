import { SpanKind } from '@opentelemetry/api';
import { inChildSpan, isTracing } from '#src/telemetry/tracing.ts';
import type { Connection } from './connection.ts';

/** The connection with a span for each statement, when tracing is on. */
export function withSpans(connection: Connection): Connection {
  if (!isTracing()) return connection;
  return {
    isTransaction: connection.isTransaction,
    rows: (text, ...others) => {
      // The text has placeholders for the values, not the values.
      const attributes = { 'db.system.name': 'postgresql', 'db.query.text': text };
      const options = { kind: SpanKind.CLIENT, attributes };
      return inChildSpan(spanName(text), options, () => connection.rows(text, ...others));
    },
    transaction: work =>
      inChildSpan('transaction', {}, () => connection.transaction(inside => work(withSpans(inside)))),
  };
}

/** What a statement does first and to which table, such as `insert webhook_events`. Functions are not tables. */
function spanName(text: string): string {
  const match = /\b(insert into|update|delete from|from)\s+"?([\w.]+)"?(?![\w.(])/i.exec(text);
  if (!match) return text.trimStart().split(/\s/, 1)[0] || 'statement';
  const [, words = '', table = ''] = match;
  const [verb = ''] = words.toLowerCase().split(' ');
  return `${verb === 'from' ? 'select' : verb} ${table}`;
}
