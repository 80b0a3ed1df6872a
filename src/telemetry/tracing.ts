import {
  type Attributes,
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { databaseFailure } from '../database/databaseErrors.ts';

/** Absent while there are no traces: then everything here does nothing but the work itself. */
let tracer: Tracer | undefined;

/** Called once, by src/telemetry/otel.ts, before anything is opened. */
export function enableTracing(): void {
  tracer = trace.getTracer('triport');
}
export const isTracing = () => tracer !== undefined;

interface Spanned {
  kind?: SpanKind;
  attributes?: Attributes;
  /** The `traceparent` of what asked for this work elsewhere, or earlier. */
  parent?: string | undefined;
}

/** Does work in a span of its own, below the present one, or below what asked for it. */
export async function inSpan<T>(name: string, spanned: Spanned, work: () => Promise<T>): Promise<T> {
  if (tracer === undefined) return work();
  const { parent: traceparent, kind = SpanKind.INTERNAL, attributes = {} } = spanned;
  const above =
    traceparent === undefined ? context.active() : propagation.extract(ROOT_CONTEXT, { traceparent });
  return tracer.startActiveSpan(name, { kind, attributes }, above, async span => {
    try {
      return await work();
    } catch (error) {
      // Without the message: it may hold what people wrote.
      const message = databaseFailure(error)?.code ?? (error as Error).name;
      span.setStatus({ code: SpanStatusCode.ERROR, message });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** The same, but only as a part of something: a look at a clock is no trace, nor what outlives its request. */
export function inChildSpan<T>(name: string, spanned: Spanned, work: () => Promise<T>): Promise<T> {
  return tracer !== undefined && trace.getActiveSpan()?.isRecording() ? inSpan(name, spanned, work) : work();
}

/** The present place in a trace, to be written down beside work that is done later. */
export function traceparent(): string | undefined {
  if (tracer === undefined) return undefined;
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier);
  return carrier.traceparent;
}

export type RunInContext = <T>(work: () => T) => T;
const anywhere: RunInContext = work => work();

/** Does work later as a part of what goes on now: for those who gather the work of several requests. */
export function captureContext(): RunInContext {
  if (tracer === undefined) return anywhere;
  const now = context.active();
  return work => context.with(now, work);
}

/** For the log: which trace a line belongs to. */
export function traceIds(): { trace_id?: string; span_id?: string } {
  const span = trace.getActiveSpan()?.spanContext();
  return span ? { trace_id: span.traceId, span_id: span.spanId } : {};
}
