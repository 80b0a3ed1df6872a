/* global GraphiQL, React, ReactDOM */
const query = `# Ctrl-Enter runs the query.
# Ctrl-Space suggests fields.
query FirstLook {
  usersCount
  users(limit: 5) {
    id
    name
    email
    posts(limit: 3) {
      title
      status
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
    version
  }
}
`;
const variables = JSON.stringify({ input: { name: 'Ada Lovelace', email: 'ada@example.com' } }, null, 2);

const form = document.getElementById('key');
const message = document.getElementById('message');
/** For this tab alone; it survives a reload. */
const stored = 'triport:key';

/** Asks for a key in words when the service refuses the request. */
async function sendWithKey(url, init) {
  const key = sessionStorage.getItem(stored);
  const headers = { ...(key && { authorization: `Bearer ${key}` }), ...lowerCase(init.headers) };
  const response = await fetch(url, { ...init, headers });
  // GraphiQL asks for the schema twice: the second refusal may come when there is another key already.
  if (response.status === 401 && key === sessionStorage.getItem(stored)) ask(key !== null);
  return response;
}

/** Headers that were written in the editor count, in whatever case. */
const lowerCase = headers =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

function ask(isRefused) {
  if (isRefused) message.textContent = 'The service refuses this key. Enter another one.';
  form.hidden = false;
}

form.addEventListener('submit', event => {
  event.preventDefault();
  sessionStorage.setItem(stored, form.elements.key.value.trim());
  form.hidden = true;
  form.reset();
  render();
});

const { getOperationAST, parse } = GraphiQL.GraphQL;
const send = GraphiQL.createFetcher({ url: '/api/graphql', fetch: sendWithKey });

/** GraphiQL 3.8.3 updates the operation name 100 ms after the last edit: a Run before that sent the old one. */
function fetcher(request, options) {
  return send(hasOperation(request) ? request : { ...request, operationName: undefined }, options);
}

function hasOperation({ query, operationName }) {
  try {
    return getOperationAST(parse(query), operationName) !== null;
  } catch {
    // The server explains the syntax error.
    return true;
  }
}

const tool = document.getElementById('tool');
const root = ReactDOM.createRoot(tool);
let renders = 0;

/** Again with another `key`, the tool asks for the schema anew. Its tabs are kept in the browser. */
function render() {
  renders += 1;
  root.render(
    React.createElement(GraphiQL, {
      key: renders,
      fetcher,
      defaultTabs: [{ query }, { query: mutation, variables }],
      defaultEditorToolsVisibility: matchMedia('(min-width: 701px)').matches && 'variables',
    }),
  );
}
render();

/** GraphiQL 3 has editors without a name, and tabs that contain buttons: screen readers stumble over both. */
function repairLabels() {
  for (const field of tool.querySelectorAll('section textarea:not([aria-label])'))
    field.ariaLabel = field.closest('section').ariaLabel;
  for (const editor of tool.querySelectorAll('.CodeMirror-scroll[tabindex="-1"]')) editor.tabIndex = 0;
  for (const list of tool.querySelectorAll('[role=tablist]')) list.role = 'group';
  for (const tab of tool.querySelectorAll('.graphiql-tab')) {
    tab.role = 'presentation';
    tab.removeAttribute('aria-selected');
    tab.firstElementChild.ariaCurrent = tab.classList.contains('graphiql-tab-active');
  }
}
new MutationObserver(repairLabels).observe(tool, {
  subtree: true,
  childList: true,
  attributeFilter: ['class'],
});
