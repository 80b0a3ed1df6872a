import { hostname } from 'node:os';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { serviceName } from '#schemas/name.ts';
import { enableTracing } from './tracing.ts';

/**
 * Starts tracing; returns a function that sends the last spans and ends it. Only this file loads the SDK, which reads
 * the standard `OTEL_*` variables itself.
 */
export function startTracing(version: string): () => Promise<void> {
  const service = resourceFromAttributes({
    'service.name': serviceName,
    'service.version': version,
    // Servers and workers have the same name.
    'service.instance.id': `${hostname()}:${process.pid}`,
  });
  const provider = new NodeTracerProvider({
    resource: defaultResource()
      .merge(service)
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  provider.register();
  enableTracing();
  // An unreachable collector must not fail the shutdown.
  return () => provider.shutdown().catch(() => {});
}
