import manifest from '#package.json' with { type: 'json' };
import type { Environment } from '#src/config/settings.ts';
import { OperatorError } from '#src/core/errors.ts';

/**
 * Starts tracing if OTEL_TRACES_EXPORTER is otlp, or if it is not set and an endpoint is; returns what ends tracing.
 * OpenTelemetry is loaded only to trace. Unsupported values of the standard variables are refused.
 */
export async function startTraces(env: Environment): Promise<() => Promise<void>> {
  const { OTEL_TRACES_EXPORTER: exporter, OTEL_EXPORTER_OTLP_PROTOCOL: protocol } = env;
  if (exporter && exporter !== 'otlp' && exporter !== 'none')
    throw new OperatorError('OTEL_TRACES_EXPORTER must be otlp or none.');
  const isWanted = exporter ? exporter === 'otlp' : Boolean(env.OTEL_EXPORTER_OTLP_ENDPOINT);
  if (!isWanted) return async () => {};
  if (protocol && protocol !== 'http/json')
    throw new OperatorError('OTEL_EXPORTER_OTLP_PROTOCOL must be http/json: no other is supported.');
  return (await import('#src/telemetry/otel.ts')).startTracing(manifest.version);
}
