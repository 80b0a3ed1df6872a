import { type Scope, scopes } from '../../schemas/apiKey.ts';
import type { AuditEntry } from '../../schemas/audit.ts';

/** Who asks. Made by a door, judged by `need` in services/access.ts. */
export interface Actor {
  readonly kind: AuditEntry['actorKind'] | 'nobody';
  readonly id: string | null;
  readonly name: string;
  /** Everything that is allowed, with what each scope includes. */
  readonly scopes: readonly Scope[];
}

/** The scopes that these stand for: each includes the ones before it. Names we do not know mean nothing here. */
export const withIncludedScopes = (given: readonly string[]): readonly Scope[] =>
  scopes.slice(0, scopes.findLastIndex(scope => given.includes(scope)) + 1);

/** A caller of a service that is open to everybody. */
export const anyone: Actor = { kind: 'anyone', id: null, name: 'anyone', scopes };

/** A caller without credentials, where they are asked for. */
export const nobody: Actor = { kind: 'nobody', id: null, name: 'nobody', scopes: [] };

/** The service itself: a job, a command. It may do everything. */
export const system = (name: string): Actor => ({ kind: 'system', id: null, name, scopes });
