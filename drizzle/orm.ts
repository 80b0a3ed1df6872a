import { createRequire } from 'node:module';

export type { GetColumnData, SQLWrapper } from 'drizzle-orm';
export type { PgColumn, PgTable, PgUpdateSetSource } from 'drizzle-orm/pg-core';
export type { PgRemoteDatabase } from 'drizzle-orm/pg-proxy';

export type Column = import('drizzle-orm').Column;
export type SQL<T = unknown> = import('drizzle-orm').SQL<T>;

/**
 * The one place that loads Drizzle, as CommonJS. For each of its 105 ES modules Node 24 parses its package.json, whose
 * exports have 180 kB: that was 0.6 s of a start.
 */
const load = createRequire(import.meta.url);
export const {
  Column,
  DrizzleQueryError,
  SQL,
  and,
  asc,
  count,
  eq,
  fillPlaceholders,
  getTableColumns,
  getTableName,
  inArray,
  is,
  isNotNull,
  isNull,
  lt,
  lte,
  or,
  sql,
} = load('drizzle-orm') as typeof import('drizzle-orm');
export const { readMigrationFiles } = load('drizzle-orm/migrator') as typeof import('drizzle-orm/migrator');
export const {
  bigint,
  boolean,
  check,
  customType,
  date,
  doublePrecision,
  foreignKey,
  index,
  integer,
  jsonb,
  PgDialect,
  pgSequence,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} = load('drizzle-orm/pg-core') as typeof import('drizzle-orm/pg-core');
export const { drizzle } = load('drizzle-orm/pg-proxy') as typeof import('drizzle-orm/pg-proxy');
