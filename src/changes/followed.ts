import type { TObject } from '@sinclair/typebox';
import type { Context } from '#src/access/context.ts';
import type { Need } from '#src/access/need.ts';
import type { Ownership } from '#src/access/ownership.ts';

/** A resource whose changes can be followed. */
export interface Followed extends Ownership {
  /** In the audit log, and in GraphQL. */
  name: string;
  title: string;
  /** Who may follow it. */
  scope: Need;
  contract: { record: TObject; query: TObject };
  /** The members of the sides by which changes can be chosen: of a parent, as `author`, and those with few values. */
  parents: Record<string, string>;
  counted: string[];
  /** Whether a node of a distributed database may show a change later than its entry of the audit log is seen. */
  showsLater?: boolean;
  /** The records of changes by id, without those that are gone. */
  readAll(context: Context, changes: { id: string }[]): Promise<Map<string, { version?: number }>>;
}
