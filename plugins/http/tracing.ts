import {
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { serviceName } from '#schemas/name.ts';

declare module 'fastify' {
  interface FastifyRequest {
    traced: Context | null;
  }
}

/**
 * Starts a span for each request: a child of the one in `traceparent` only if that is sampled, so that nobody can keep
 * requests out of the traces. This is registered only when tracing is on.
 */
async function register(app: FastifyInstance): Promise<void> {
  const tracer = trace.getTracer(serviceName);
  app.decorateRequest('traced', null);

  app.addHook('onRequest', (request, reply, done) => {
    // Health checks and scrapes would bury everything else.
    if (request.config.shed === false) return done();
    const { method, id } = request;
    const route = request.config.url ?? 'none';
    const caller = propagation.extract(ROOT_CONTEXT, request.headers);
    const flags = trace.getSpanContext(caller)?.traceFlags ?? TraceFlags.NONE;
    const parent = flags & TraceFlags.SAMPLED ? caller : ROOT_CONTEXT;
    const attributes = { 'http.request.method': method, 'http.route': route, 'http.request.id': id };
    const span = tracer.startSpan(`${method} ${route}`, { kind: SpanKind.SERVER, attributes }, parent);
    request.traced = trace.setSpan(parent, span);
    // `onResponse` does not run when Fastify sends no response.
    reply.raw.once('close', () => endSpan(request, request.statusOnClose));
    resume(request, done);
  });
  // Hooks after the body run from events of the socket, where the span is not active.
  app.addHook('preValidation', (request, _reply, done) => resume(request, done));
  app.addHook('onResponse', (request, reply, done) => {
    endSpan(request, reply.statusCode);
    resume(request, done);
  });
}

export default fp(register, { name: 'tracing', dependencies: ['routing'] });

function endSpan({ traced }: FastifyRequest, status: number): void {
  const span = traced === null ? undefined : trace.getSpan(traced);
  if (!span?.isRecording()) return;
  span.setAttribute('http.response.status_code', status);
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

const resume = ({ traced }: FastifyRequest, done: () => void) =>
  traced === null ? done() : context.with(traced, done);
