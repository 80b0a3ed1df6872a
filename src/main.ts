import './process/compileCache.ts';

// Imported statically, it would be compiled before the cache is there.
await import('./process/server.ts');
