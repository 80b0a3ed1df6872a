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
import { serviceName } from '#schemas/name.ts';
import { systemCode } from '#src/core/errors.ts';

/** Undefined while tracing is off. */
let tracer: Tracer | undefined;

/** Called once by otel.ts, before anything else starts. */
export function enableTracing(): void {
  tracer = trace.getTracer(serviceName);
}
export const isTracing = () => tracer !== undefined;

interface SpanOptions {
  kind?: SpanKind;
  attributes?: Attributes;
  /** The `traceparent` of the request that caused this work; by default the active span is the parent. */
  parent?: string | undefined;
}

export async function inSpan<T>(name: string, options: SpanOptions, work: () => Promise<T>): Promise<T> {
  if (tracer === undefined) return work();
  const { parent: traceparent, kind = SpanKind.INTERNAL, attributes = {} } = options;
  const parent =
    traceparent === undefined ? context.active() : propagation.extract(ROOT_CONTEXT, { traceparent });
  return tracer.startActiveSpan(name, { kind, attributes }, parent, async span => {
    try {
      return await work();
    } catch (error) {
      // The message of the error is left out: it may contain personal data.
      const message = systemCode(error) ?? (error as Error).name;
      span.setStatus({ code: SpanStatusCode.ERROR, message });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** Makes a span only inside another one: timers, and work that outlives its request, must not start traces. */
export function inChildSpan<T>(name: string, options: SpanOptions, work: () => Promise<T>): Promise<T> {
  return trace.getActiveSpan()?.isRecording() ? inSpan(name, options, work) : work();
}

/** The `traceparent` of the active span, to be stored with work that is done later. */
export function traceparent(): string | undefined {
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier);
  return carrier.traceparent;
}

/** How spans name an event: by our id and by the provider's. */
export const eventAttributes = (event: string, eventId: string | null): Attributes => ({
  'event.id': event,
  ...(eventId && { 'event.provider_id': eventId }),
});

/** Adds attributes that became known after the active span began. */
export function describeSpan(attributes: Attributes): void {
  trace.getActiveSpan()?.setAttributes(attributes);
}

/** The trace and the span that a log line belongs to. */
export function traceIds(): { trace_id?: string; span_id?: string } {
  const span = trace.getActiveSpan()?.spanContext();
  return span ? { trace_id: span.traceId, span_id: span.spanId } : {};
}
