/* global GraphiQL, React, ReactDOM */
const firstQuery = `# Ctrl-Enter runs the query.
# Ctrl-Space shows what can be asked for.
# Where a key is asked for, write under Headers below:
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

ReactDOM.createRoot(document.getElementById('tool')).render(
  React.createElement(GraphiQL, {
    fetcher: GraphiQL.createFetcher({ url: '/api/graphql' }),
    defaultQuery: firstQuery,
    defaultEditorToolsVisibility: true,
  }),
);
