import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { toolPolicy } from '../../http/headers.ts';
import { servePage, sharedFile } from '../../pages/assets.ts';

const { resolve } = createRequire(import.meta.url);
const inPackage = (name: string, file: string) => join(dirname(resolve(`${name}/package.json`)), file);
const here = (name: string) => join(import.meta.dirname, name);

/** Serves the files of the browser tool, and returns the function that sends its page. */
export const makeTool = (app: FastifyInstance) =>
  servePage(app, '/graphql/tool', {
    title: 'Triport GraphQL',
    body: '<main><h1>GraphQL</h1><div id="tool"></div></main>',
    policy: toolPolicy,
    styles: [inPackage('graphiql', 'graphiql.min.css'), here('style.css')],
    // GraphiQL 3 is the last with a browser bundle; it needs React 18.
    scripts: [
      inPackage('react', 'umd/react.production.min.js'),
      inPackage('react-dom', 'umd/react-dom.production.min.js'),
      inPackage('graphiql', 'graphiql.min.js'),
    ],
    modules: [sharedFile('key.js'), sharedFile('repair.js'), here('start.js')],
  });
