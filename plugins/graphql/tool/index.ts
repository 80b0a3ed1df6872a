import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { toolPolicy } from '../../http/headers.ts';
import { packageFile, servePage, sharedFile } from '../../pages/assets.ts';

const here = (name: string) => join(import.meta.dirname, name);

/** Serves the files of the browser tool, and returns the function that sends its page. */
export const makeTool = (app: FastifyInstance) =>
  servePage(app, '/graphql/tool', {
    title: 'Triport GraphQL',
    body: '<main><h1>GraphQL</h1><div id="tool"></div></main>',
    policy: toolPolicy,
    styles: [packageFile('graphiql', 'graphiql.min.css'), here('style.css')],
    // GraphiQL 3 is the last with a browser bundle; it needs React 18.
    scripts: [
      packageFile('react', 'umd/react.production.min.js'),
      packageFile('react-dom', 'umd/react-dom.production.min.js'),
      packageFile('graphiql', 'graphiql.min.js'),
    ],
    modules: [sharedFile('key.js'), sharedFile('repair.js'), here('start.js')],
  });
