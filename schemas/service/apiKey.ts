import { type Static, Type } from '@sinclair/typebox';
import { serviceName } from '#schemas/name.ts';
import { Id, nullableTime, readOnly, strict, string, text, time } from '#schemas/parts/common.ts';
import { only } from '#schemas/parts/filters.ts';
import { listParameters, listSchema } from '#schemas/parts/lists.ts';

/** What a caller may do with all records. Each includes the ones before it. */
export const rankedScopes = ['read', 'write', 'admin'] as const;
/** `own` reads what is public, and reads and writes the records of one person. */
export const scopes = [...rankedScopes, 'own'] as const;
export type Scope = (typeof scopes)[number];

const name = text(1, 200, 'What the key is for, 1 to 200 characters.', 'nightly import');
const scopeList = Type.Unsafe<Scope[]>({
  type: 'array',
  items: { type: 'string', enum: scopes },
  minItems: 1,
  maxItems: scopes.length,
  uniqueItems: true,
  description:
    'What the key may do. `write` includes `read`, and `admin` includes both. `own` is for the records of one user.',
  examples: [['read', 'write']],
});

const userId = {
  ...Id,
  description: 'The user whom a key with the scope `own` stands for; no other has one.',
};

const members = {
  id: readOnly.id,
  name,
  scopes: scopeList,
  userId: Type.Unsafe<string | null>({ ...userId, type: ['string', 'null'], examples: [null] }),
  createdAt: readOnly.createdAt,
  expiresAt: { ...nullableTime('When the key stops working; null for never.'), examples: [null] },
  lastUsedAt: {
    ...nullableTime('When the key was last used, to the minute; null for never.'),
    examples: [null],
  },
  revokedAt: { ...nullableTime('When the key was revoked; null while it works.'), examples: [null] },
};

export const ApiKey = strict(members, {
  $id: 'ApiKey',
  description: 'A key without its secret, of which only the SHA-256 is stored.',
});
export type ApiKey = Static<typeof ApiKey>;

export const NewApiKey = strict(
  {
    ...members,
    key: string(
      'The complete key, to be sent as `Authorization: Bearer …`. It is never shown again.',
      `${serviceName}_019aa5d07c2e7d4f9b1a3f6c2f1e8a90_…`,
    ),
  },
  { $id: 'NewApiKey', description: 'A new key with its secret.' },
);
export type NewApiKey = Static<typeof NewApiKey>;

export const ApiKeyCreate = strict(
  {
    name,
    scopes: scopeList,
    userId: Type.Optional(userId),
    expiresAt: Type.Optional(time('When the key stops working; never if absent.')),
  },
  { $id: 'ApiKeyCreate', description: 'The key to create.' },
);
export type ApiKeyCreate = Static<typeof ApiKeyCreate>;

export const apiKeySorts = ['createdAt', 'name'] as const;
export const ApiKeyQuery = strict({
  ...listParameters(apiKeySorts),
  name: only(name, 'Only keys with exactly this name.'),
});
export type ApiKeyQuery = Static<typeof ApiKeyQuery>;

export const ApiKeyList = listSchema(ApiKey, 'ApiKeyList');
