import type { Connection } from '#src/database/connection.ts';

/** For what only passes its connection on. */
export const noDatabase: Connection = {
  isTransaction: false,
  rows: async () => [],
  transaction: work => work({ ...noDatabase, isTransaction: true }),
};
