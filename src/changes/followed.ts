import type { TObject } from '@sinclair/typebox';
import type { Context } from '#src/access/context.ts';
import type { Need } from '#src/access/need.ts';
import type { Ownership } from '#src/access/ownership.ts';

/** A resource whose changes can be followed. */
export interface Followed extends Ownership {
  /** The name in the audit log, and the title in GraphQL. */
  name: string;
  title: string;
  /** Who may follow it. */
  scope: Need;
  contract: { record: TObject; query: TObject };
  /** Members by which changes can be chosen: ids of parents, by relation (`author`), and those with few values. */
  parents: Record<string, string>;
  counted: string[];
  /** Whether a node of a distributed database may show a change later than the audit log shows its entry. */
  showsLater?: boolean;
  /** Reads the records of changes, by id, without those that are gone. */
  readAll(context: Context, changes: { id: string }[]): Promise<Map<string, { version?: number }>>;
}
