import { type Static, Type } from '@sinclair/typebox';
import { oneOf, strict } from './common.ts';

export const signatureSchemes = ['timestamped', 'sha256', 'standard'] as const;
export type SignatureScheme = (typeof signatureSchemes)[number];

/** How a provider signs its events: an entry of `WEBHOOK_SECRETS`. A list there is short for `secrets`. */
export const ProviderSettings = strict({
  scheme: {
    ...oneOf(
      signatureSchemes,
      '`timestamped`: `t=<seconds>,v1=<hex>` over time and body; `sha256`: `sha256=<hex>` over the body; `standard`: Standard Webhooks.',
    ),
    default: 'timestamped',
  },
  header: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9-]{1,64}$',
      patternMessage: 'must be a header name in lower case',
      description: 'The header with the signature; `<provider>-signature` if absent.',
    }),
  ),
  secrets: Type.Array(Type.String({ minLength: 1 }), {
    minItems: 1,
    description: 'The current secret first; the others are accepted until a rotation is complete.',
  }),
});
export type ProviderSettings = Static<typeof ProviderSettings>;
