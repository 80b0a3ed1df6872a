import { resolve } from 'node:path';

/** The options of Node that make a process of the service call a sink as its effects. */
export const withSink = ['--import', resolve(import.meta.dirname, 'register.ts')];
