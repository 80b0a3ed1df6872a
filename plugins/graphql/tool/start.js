/* global GraphiQL, React, ReactDOM */
import { credentials, fetchWithKey } from './key.js';
import { repair } from './repair.js';

const send = GraphiQL.createFetcher({
  url: '/api/graphql',
  subscriptionUrl: `${location.origin.replace('http', 'ws')}/api/graphql`,
  fetch: fetchWithKey,
});

/** Leaves out a name that the query lacks: GraphiQL 3.8.3 updates the operation name 100 ms after the last edit. */
function fetcher({ operationName, ...request }, options) {
  const isNamed = new RegExp(`(query|mutation|subscription)\\s+${operationName}\\b`).test(request.query);
  // `fetchWithKey` adds the key to HTTP requests; these headers also give it to a WebSocket.
  return send(isNamed ? { ...request, operationName } : request, { ...options, headers: credentials() });
}

const tool = document.getElementById('tool');
ReactDOM.createRoot(tool).render(
  React.createElement(GraphiQL, {
    fetcher,
    defaultTabs: JSON.parse(tool.dataset.tabs),
    // A link from another page may bring a query.
    query: new URLSearchParams(location.hash.slice(1)).get('query') ?? undefined,
    // The tool would keep the headers in its history, in the storage of the browser.
    isHeadersEditorEnabled: false,
    defaultEditorToolsVisibility: matchMedia('(min-width: 701px)').matches && 'variables',
  }),
);

/** Names the editors, and corrects the roles of tabs, which contain buttons. */
repair(tool, {
  '.graphiql-query-editor textarea': { ariaLabel: 'Query' },
  '.graphiql-editor-tool textarea': { ariaLabel: 'Variables' },
  '.result-window textarea': { ariaLabel: 'Result' },
  '.CodeMirror-scroll[tabindex="-1"]': { tabIndex: 0 },
  '[role=tablist]': { role: 'group' },
  '.graphiql-tab': { role: 'presentation', ariaSelected: null },
  '.graphiql-tab > :first-child': { ariaCurrent: null },
  '.graphiql-tab-active > :first-child': { ariaCurrent: 'true' },
});
