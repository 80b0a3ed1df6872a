import type { SignatureScheme } from '../../../schemas/provider.ts';

/**
 * Where a part of an event is: a path in the body such as `data.object.customer`, or a header such as
 * `header:x-github-event`. Of several, the first that is there counts.
 */
export type Source = string | readonly string[];

/** How a provider sends its events. */
export interface Preset {
  readonly scheme: SignatureScheme;
  /** The header with the signature. */
  readonly header: string;
  /** Identifies the event in all of its deliveries. Without one, equal bodies are one event. */
  readonly id?: Source;
  readonly type: Source;
  readonly customer?: Source;
  /** When it happened: seconds since 1970, or RFC 3339. */
  readonly time?: Source;
}
