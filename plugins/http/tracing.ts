import {
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';

declare module 'fastify' {
  interface FastifyRequest {
    traced: Context | null;
  }
}

/** A span for each request, a child of the one in `traceparent`, if there is one. Registered only when tracing is on. */
export default fp(async app => {
  const tracer = trace.getTracer('triport');
  app.decorateRequest('traced', null);

  app.addHook('onRequest', (request, reply, done) => {
    // Health checks and scrapes would bury everything else.
    if (request.routeOptions.config.shed === false) return done();
    const { method, id } = request;
    const route = request.routeOptions.url ?? 'none';
    const parent = propagation.extract(ROOT_CONTEXT, request.headers);
    const attributes = { 'http.request.method': method, 'http.route': route, 'http.request.id': id };
    const span = tracer.startSpan(`${method} ${route}`, { kind: SpanKind.SERVER, attributes }, parent);
    request.traced = trace.setSpan(parent, span);
    reply.raw.once('close', () => {
      span.setAttribute('http.response.status_code', reply.statusCode);
      if (reply.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    });
    resume(request, done);
  });
  // Hooks after the body run from events of the socket, where the span is not active.
  app.addHook('preValidation', (request, _reply, done) => resume(request, done));
  app.addHook('onResponse', (request, _reply, done) => resume(request, done));
});

const resume = ({ traced }: FastifyRequest, done: () => void) =>
  traced === null ? done() : context.with(traced, done);
