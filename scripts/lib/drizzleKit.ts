import { createRequire } from 'node:module';

// What `npm run migration` runs. It is loaded without its types, which need a package that is missing.
export const { generateDrizzleJson, generateMigration } = createRequire(import.meta.url)('drizzle-kit/api');
