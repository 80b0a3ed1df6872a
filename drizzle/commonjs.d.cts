export * from 'drizzle-orm';
export * from 'drizzle-orm/migrator';
export * from 'drizzle-orm/pg-core';
export * from 'drizzle-orm/pg-proxy';
