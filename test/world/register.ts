import { registerHooks } from 'node:module';

const [ours, world] = ['../../src/domain/index.ts', './index.ts'].map(
  path => new URL(path, import.meta.url).href,
) as [string, string];

// Gives a process of the service that imports this first the resources of the tests, too.
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    return found.url === ours && context.parentURL !== world ? { ...found, url: world } : found;
  },
});
