/**
 * The one place that loads Drizzle, as CommonJS. Node 24 would parse Drizzle's package.json, whose exports have 180 kB,
 * for each of its 105 ES modules: that took 0.6 s of a start.
 */
export * from './commonjs.cjs';
