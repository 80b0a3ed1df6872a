import { defineConfig } from 'drizzle-kit';
import { loadSettings } from '#src/config/settings.ts';
import { lockFolder } from '#src/database/embedded/folder.ts';

const settings = process.argv.includes('studio') ? loadSettings() : undefined;
const { DATABASE_URL: url = '', DATA_DIR: folder = '' } = settings ?? {};

// Studio opens the embedded database itself, so the service must be stopped: two processes would destroy the data.
export const unlock = settings && url === '' && lockFolder(folder);

// `npm run migration -- --name add_tags` compares drizzle/tables with the last migration and writes the next.
export default defineConfig({
  dialect: 'postgresql',
  schema: ['./drizzle/tables/*.ts', './drizzle/tables/service/*.ts'],
  out: './drizzle/migrations',
  breakpoints: false,
  ...(url ? { dbCredentials: { url } } : { driver: 'pglite', dbCredentials: { url: `${folder}/postgres` } }),
});
