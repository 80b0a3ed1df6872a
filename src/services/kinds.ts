import type { RecordTable } from '../database/statements/recordsById.ts';

/** What the shared functions must know of a kind of record. */
export interface Kind<T extends RecordTable = RecordTable> {
  /** In the audit log, and in error texts and codes. */
  name: string;
  /** In paths, and in error codes. */
  plural: string;
  table: T;
}
