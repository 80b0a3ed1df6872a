import { defineConfig } from 'drizzle-kit';

// `npm run migration -- --name add_tags` compares drizzle/tables with the last migration and writes the next.
export default defineConfig({
  dialect: 'postgresql',
  schema: ['./drizzle/tables/*.ts', './drizzle/tables/service/*.ts'],
  out: './drizzle/migrations',
  breakpoints: false,
});
