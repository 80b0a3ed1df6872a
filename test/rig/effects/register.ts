import { registerHooks } from 'node:module';

const [ours, sinking] = ['../../../src/domain/effects.ts', './sinking.ts'].map(
  path => new URL(path, import.meta.url).href,
) as [string, string];

// Gives a process of the service that imports this first other effects.
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    return found.url === ours ? { ...found, url: sinking } : found;
  },
});
