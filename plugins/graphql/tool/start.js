/* global GraphiQL, React, ReactDOM */
import { fetchWithKey } from './key.js';
import { repair } from './repair.js';

const query = `# Ctrl-Enter runs the query, Ctrl-Space suggests fields.
query FirstLook {
  usersCount
  users(limit: 5) {
    id
    name
    posts(limit: 3) {
      title
    }
  }
}
`;
const mutation = `# Creates a user. The variables are below.
# Running it twice is refused: the address is taken.
mutation CreateUser($input: UserCreateInput!) {
  createUser(input: $input) {
    id
    name
  }
}
`;
const variables = JSON.stringify({ input: { name: 'Ada Lovelace', email: 'ada@example.com' } }, null, 2);

const subscription = `# Shows each change of a post when it is committed, until you stop it.
subscription Follow {
  postChanged {
    action
    changed
    post {
      title
    }
  }
}
`;

/** The results of a subscription, as server-sent events. */
function follow(request) {
  const ending = new AbortController();
  const headers = { accept: 'text/event-stream', 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(request), signal: ending.signal };
  async function* read() {
    const response = await fetchWithKey('/api/graphql', init);
    if (!response.ok) return yield response.json();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ''; ; ) {
      const { value, done } = await reader.read();
      if (done) return;
      const events = (rest + value).split('\n\n');
      rest = events.pop();
      for (const [, data] of events.join('\n').matchAll(/^data: (.+)$/gm)) yield JSON.parse(data);
    }
  }
  // Otherwise the button would wait for the next result.
  return Object.assign(read(), { return: async () => ending.abort() });
}

const send = GraphiQL.createFetcher({ url: '/api/graphql', fetch: fetchWithKey });

/** GraphiQL 3.8.3 updates the operation name 100 ms after the last edit: a Run before that sent the old one. */
function fetcher({ operationName, ...request }, options) {
  const named = new RegExp(`(query|mutation|subscription)\\s+${operationName}\\b`).exec(request.query);
  const operation = named ? { ...request, operationName } : request;
  const isSubscription = named ? named[1] === 'subscription' : /^\s*subscription\b/m.test(request.query);
  return isSubscription ? follow(operation) : send(operation, options);
}

const tool = document.getElementById('tool');
ReactDOM.createRoot(tool).render(
  React.createElement(GraphiQL, {
    fetcher,
    defaultTabs: [{ query }, { query: mutation, variables }, { query: subscription }],
    // The tool would keep the headers in its history, in the storage of the browser.
    isHeadersEditorEnabled: false,
    defaultEditorToolsVisibility: matchMedia('(min-width: 701px)').matches && 'variables',
  }),
);

/** Editors without a name, and tabs that contain buttons. */
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
