import type { Connection } from '#src/database/connection.ts';

/** A connection for code that only passes it on. */
export const noDatabase: Connection = {
  isTransaction: false,
  rows: async () => [],
  transaction: work => work({ ...noDatabase, isTransaction: true }),
};
