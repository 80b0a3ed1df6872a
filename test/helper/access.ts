import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import type { Test } from 'tap';
import type { ApiKeyCreate, Scope } from '#schemas/service/apiKey.ts';
import { systemContext } from '#src/access/context.ts';
import type { Database } from '#src/database/database.ts';
import { users } from '#src/domain/users.ts';
import { createKey } from '#src/people/apiKeys.ts';
import { testLog } from './database.ts';
import { newPerson } from './resources/records.ts';
import { serve } from './servers/serve.ts';

/** Returns a context that may do everything. */
export const inside = (database: Pick<Database, 'writes'>, now = () => new Date()) =>
  systemContext({ db: database.writes, log: testLog, now }, 'test', 'command');

/** Creates a valid key by the service function. */
export const makeKey = (database: Database, scopes: Scope[], more: Partial<ApiKeyCreate> = {}) =>
  createKey(inside(database), { name: scopes.join(), scopes, ...more });

/** Creates a user by the service function. */
export const makeUser = (database: Database, more: { name?: string } = {}) =>
  users.create(inside(database), { ...newPerson(), ...more });

export const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` });

/** Opens an issuer of tokens with its JWKS on loopback. Its keys can be rotated, and it can go down. */
export async function openIssuer(t: Test, algorithm = 'ES256') {
  const issuer = 'https://issuer.example';
  const audience = 'triport';
  let pair = await generateKeyPair(algorithm, { extractable: true });
  let kid = 'first';
  let away = false;
  let reads = 0;
  const { url } = await serve(t, async (_request, response) => {
    reads++;
    if (away) return void response.writeHead(500).end();
    response.end(JSON.stringify({ keys: [{ ...(await exportJWK(pair.publicKey)), kid, use: 'sig' }] }));
  });
  return {
    settings: {
      AUTH_MODE: 'required',
      AUTH_JWKS_URL: `${url}/jwks`,
      AUTH_ISSUER: issuer,
      AUTH_AUDIENCE: audience,
    } as const,
    reads: () => reads,
    goAway: (gone: boolean) => {
      away = gone;
    },
    rotate: async (name: string) => {
      pair = await generateKeyPair(algorithm, { extractable: true });
      kid = name;
    },
    publicKey: () => exportJWK(pair.publicKey),
    sign: (claims: { [K in keyof JWTPayload]: JWTPayload[K] | undefined } = {}, header: object = {}) =>
      new SignJWT({
        sub: 'someone',
        scope: 'read',
        iss: issuer,
        aud: audience,
        exp: seconds(300),
        ...claims,
      } as JWTPayload)
        .setProtectedHeader({ alg: algorithm, kid, ...header })
        .sign(pair.privateKey),
  };
}

export const seconds = (from: number) => Math.floor(Date.now() / 1000) + from;
