/**
 * The one place that loads Drizzle, as CommonJS. For each of its 105 ES modules Node 24 parses its package.json, whose
 * exports have 180 kB: that was 0.6 s of a start.
 */
export * from './commonjs.cjs';
