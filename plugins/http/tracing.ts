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
    /** Where in a trace this request is; null where nothing is traced. */
    traced: Context | null;
  }
}

/** A span for each request, below the one that the caller names in `traceparent`. Registered only where traces are made. */
export default fp(async app => {
  const tracer = trace.getTracer('triport');
  app.decorateRequest('traced', null);

  app.addHook('onRequest', (request, reply, done) => {
    // Whoever looks every second whether the service is well would bury everything else.
    if (request.routeOptions.config.shed === false) return done();
    const { method, id } = request;
    const route = request.routeOptions.url ?? 'none';
    const above = propagation.extract(ROOT_CONTEXT, request.headers);
    const attributes = { 'http.request.method': method, 'http.route': route, 'http.request.id': id };
    const span = tracer.startSpan(`${method} ${route}`, { kind: SpanKind.SERVER, attributes }, above);
    request.traced = trace.setSpan(above, span);
    reply.raw.once('close', () => {
      span.setAttribute('http.response.status_code', reply.statusCode);
      if (reply.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    });
    goOn(request, done);
  });
  // A body comes with events of the socket, which belong to no request.
  app.addHook('preValidation', (request, _reply, done) => goOn(request, done));
  app.addHook('onResponse', (request, _reply, done) => goOn(request, done));
});

const goOn = ({ traced }: FastifyRequest, done: () => void) =>
  traced === null ? done() : context.with(traced, done);
