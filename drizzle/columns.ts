import { customType } from 'drizzle-orm/pg-core';

/**
 * Text in code point order. The collation is part of the column, because the default one differs between
 * servers and between releases of their C library: the same list would have two orders, and an index made
 * under the one would be corrupt under the other.
 */
export const textByCode = customType<{ data: string; driverData: string }>({
  dataType: () => 'text collate "C"',
});

/** An instant in milliseconds, as the RFC 3339 text that leaves the service. */
export const instant = customType<{ data: string; driverData: string }>({
  dataType: () => 'timestamp (3) with time zone',
  fromDriver: value => new Date(value).toISOString(),
});

/** Bytes as they came: text columns refuse NUL, and JSON columns rewrite what they are given. */
export const bytes = customType<{ data: Buffer; driverData: Uint8Array }>({
  dataType: () => 'bytea',
  fromDriver: value => Buffer.from(value.buffer, value.byteOffset, value.byteLength),
});
