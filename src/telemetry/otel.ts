import { hostname } from 'node:os';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { enableTracing } from './tracing.ts';

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
  enableTracing();
  // Whether the collector took the last ones is no matter of an orderly end.
  return () => provider.shutdown().catch(() => {});
}
