import { createRequire } from 'node:module';

// What `npm run migration` runs; its own types miss a package.
export const { generateDrizzleJson, generateMigration } = createRequire(import.meta.url)('drizzle-kit/api');
