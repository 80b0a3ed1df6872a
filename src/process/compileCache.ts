import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Node keeps what it has compiled, without the types, for the next start. The folder is next to the modules: in Node's
 * default, the folder for temporary files, another user could put code there first. Where nothing can be written, Node
 * compiles as usual.
 */
enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/node', import.meta.url)));
