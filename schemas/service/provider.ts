import { type Static, Type } from '@sinclair/typebox';
import { oneOf, strict, string } from '#schemas/parts/common.ts';

export const signatureSchemes = ['timestamped', 'paddle', 'sha256', 'hex', 'base64', 'standard'] as const;
export type SignatureScheme = (typeof signatureSchemes)[number];

// Excludes content-type, which is not kept: with it as their id, all events would be one.
const headerName = '(?!content-type$)[a-z0-9-]{1,64}';
const source = Type.String({
  pattern: `^(header:${headerName}|[^.:]+([.][^.:]+)*)$`,
  patternMessage:
    'must be a path such as `data.object.customer`, or `header:` and a header name in lower case, but not content-type',
});
const sources = (what: string) =>
  Type.Optional(
    // A union of two schemas would report each mistake once for the string and once for the list.
    Type.Unsafe<Static<typeof source> | Static<typeof source>[]>({
      ...source,
      type: ['string', 'array'],
      items: source,
      minItems: 1,
      description: `Where ${what} is: a path in the body such as \`data.object.customer\`, or \`header:x-event-id\`; of several, the first that is there.`,
    }),
  );
// A placeholder that was copied from an example would be a secret that everybody knows.
const secret = Type.String({
  pattern: '^(?!.*([$][{]|<))[!-~]{8,}$',
  patternMessage: 'must be 8 or more visible ASCII characters, and no placeholder',
});

/** A provider and how it sends its events: an entry of `WEBHOOK_SECRETS`. A bare list is short for `secrets`. */
export const ProviderSettings = strict({
  preset: Type.Optional(
    string('The provider whose format the events have; by default the one of the same name.', 'paddle'),
  ),
  scheme: Type.Optional(oneOf(signatureSchemes, 'How the body is signed, for a provider without a preset.')),
  header: Type.Optional(
    Type.String({
      pattern: `^${headerName}$`,
      patternMessage: 'must be a header name in lower case, but not content-type',
      description:
        "The header with the signature; by default the preset's, or `<provider>-signature` without one.",
    }),
  ),
  id: sources("the event's id"),
  type: sources("the event's type"),
  customer: sources("the customer's id"),
  time: sources('the time of the event'),
  secrets: Type.Array(secret, {
    minItems: 1,
    description: 'The current secret first; the others are accepted until a rotation is complete.',
  }),
});
export type ProviderSettings = Static<typeof ProviderSettings>;
