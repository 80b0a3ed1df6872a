import { rankedScopes, type Scope } from '#schemas/service/apiKey.ts';
import type { AuditEntry } from '#schemas/service/audit.ts';

/** The caller of a service function. `need` in src/access checks the scopes. */
export interface Actor {
  readonly kind: AuditEntry['actorKind'] | 'nobody';
  readonly id: string | null;
  /** Who issued the token. */
  readonly issuer?: string | undefined;
  readonly name: string;
  /** All scopes, including those that another scope includes. */
  readonly scopes: readonly Scope[];
  /** The user whom a caller with the scope `own` stands for; null if there is none yet. */
  readonly person?: string | null;
  /** When the token ends, in milliseconds. */
  readonly expiresAt?: number;
}

/** Each scope of the ladder includes the ones before it. Unknown names grant nothing. */
export const withIncludedScopes = (names: readonly string[]): readonly Scope[] => [
  ...rankedScopes.slice(0, rankedScopes.findLastIndex(scope => names.includes(scope)) + 1),
  ...(names.includes('own') ? (['own'] as const) : []),
];

/** Every caller of a service that is open to all. */
export const anyone: Actor = { kind: 'anyone', id: null, name: 'anyone', scopes: rankedScopes };

/** A caller without credentials where they are required. */
export const nobody: Actor = { kind: 'nobody', id: null, name: 'nobody', scopes: [] };

/** The service itself, in a job or a command. It may do everything. */
export const system = (name: string): Actor => ({ kind: 'system', id: null, name, scopes: rankedScopes });
