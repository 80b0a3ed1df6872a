/* global GraphiQL, React, ReactDOM */
const firstQuery = `# Ctrl-Enter runs the query.
# Ctrl-Space suggests fields.
# If the service requires a key, add it under Headers below:
#   {"Authorization": "Bearer …"}
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

const { getOperationAST, parse } = GraphiQL.GraphQL;
const send = GraphiQL.createFetcher({ url: '/api/graphql' });

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

ReactDOM.createRoot(document.getElementById('tool')).render(
  React.createElement(GraphiQL, {
    fetcher,
    defaultQuery: firstQuery,
    defaultEditorToolsVisibility: true,
  }),
);
