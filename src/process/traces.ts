import manifest from '../../package.json' with { type: 'json' };
import type { Environment } from '../config/settings.ts';
import { OperatorError } from '../core/errors.ts';

/** Whether an endpoint is set, unless OTEL_TRACES_EXPORTER decides. */
export const wantsTraces = ({
  OTEL_TRACES_EXPORTER: exporter,
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
}: Environment) => (exporter ? exporter === 'otlp' : Boolean(url));

/** Starts tracing if the environment wants it; returns what ends it. OpenTelemetry is loaded only then. */
export async function startTraces(env: Environment): Promise<() => Promise<void>> {
  checkTraces(env);
  if (!wantsTraces(env)) return async () => {};
  return (await import('../telemetry/otel.ts')).startTracing(manifest.version);
}

/** Refuses values of the standard variables that this service does not support. */
export function checkTraces(env: Environment): void {
  const { OTEL_TRACES_EXPORTER: exporter, OTEL_EXPORTER_OTLP_PROTOCOL: protocol } = env;
  if (exporter && exporter !== 'otlp' && exporter !== 'none')
    throw new OperatorError('OTEL_TRACES_EXPORTER must be otlp or none.');
  if (wantsTraces(env) && protocol && protocol !== 'http/json')
    throw new OperatorError('OTEL_EXPORTER_OTLP_PROTOCOL must be http/json: no other is supported.');
}
