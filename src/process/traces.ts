import manifest from '../../package.json' with { type: 'json' };
import type { Environment } from '../config/settings.ts';
import { OperatorError } from '../core/errors.ts';

/** Traces are made when an endpoint is set, or when OTEL_TRACES_EXPORTER says so. */
export const wantsTraces = ({
  OTEL_TRACES_EXPORTER: exporter,
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
}: Environment) => (exporter ? exporter === 'otlp' : Boolean(url));

/** Starts tracing if the environment asks for it; returns what flushes and ends it. Loads OpenTelemetry only then. */
export async function startTraces(env: Environment): Promise<() => Promise<void>> {
  checkTraces(env);
  if (!wantsTraces(env)) return async () => {};
  return (await import('../telemetry/otel.ts')).startTracing(manifest.version);
}

/** Refuses what the standard variables allow and this service cannot do. */
export function checkTraces(env: Environment): void {
  const { OTEL_TRACES_EXPORTER: exporter, OTEL_EXPORTER_OTLP_PROTOCOL: protocol } = env;
  if (exporter && exporter !== 'otlp' && exporter !== 'none')
    throw new OperatorError('OTEL_TRACES_EXPORTER must be otlp or none.');
  if (wantsTraces(env) && protocol && protocol !== 'http/json')
    throw new OperatorError(
      'OTEL_EXPORTER_OTLP_PROTOCOL must be http/json, the only one that traces are sent in.',
    );
}
