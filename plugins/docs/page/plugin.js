/** What the page adds to Swagger UI: code samples, and errors and headers under a line that unfolds. */
export const plugin = ({ React, specSelectors }) => {
  const h = React.createElement;

  function Sample({ label, source }) {
    const text = source.replaceAll('https://api.example.com', location.origin);
    const copy = () => navigator.clipboard.writeText(text);
    return h(
      'div',
      { className: 'sample' },
      h('h4', {}, label),
      h('pre', { tabIndex: 0 }, text),
      // A page without TLS has no clipboard, unless it comes from this machine.
      navigator.clipboard &&
        h('button', { type: 'button', onClick: copy, 'aria-label': `Copy ${label}` }, 'Copy'),
    );
  }

  function samplesOf(path, method) {
    const samples = specSelectors.specJson().getIn(['paths', path, method, 'x-codeSamples']);
    if (!samples) return undefined;
    const shown = samples.toJS().map(sample => h(Sample, { ...sample, key: sample.label }));
    return h('details', { className: 'more' }, h('summary', {}, 'Code samples'), ...shown);
  }

  const withMore = Responses => props => {
    const { responses, path, method } = props;
    const errors = responses.filter((_, code) => isFolded(code));
    const codes = [...errors.keys()].join(', ');
    return h(
      'div',
      {},
      samplesOf(path, method),
      h(Responses, { ...props, responses: responses.filterNot((_, code) => isFolded(code)) }),
      errors.size > 0 &&
        h(
          'details',
          { className: 'more errors' },
          h('summary', {}, `Errors: ${codes}`),
          h(Responses, { ...props, responses: errors, tryItOutResponse: null }),
        ),
    );
  };

  /** Folds the headers: each response has about seven. */
  const foldHeaders = Headers => props =>
    h(
      'details',
      { className: 'headers' },
      h('summary', {}, `Headers: ${[...(props.headers?.keys() ?? [])].join(', ')}`),
      h(Headers, props),
    );

  const sayWhereKeyIs = Auths => props =>
    h('div', {}, h('p', {}, 'This page keeps the key only in memory.'), h(Auths, props));

  return {
    fn: { opsFilter: filterOperations },
    statePlugins: { spec: { wrapSelectors: { allowTryItOutFor: () => hasEnd } } },
    wrapComponents: {
      responses: withMore,
      headers: foldHeaders,
      auths: sayWhereKeyIs,
      // The text replaces the link, which would be within a button.
      DeepLink:
        () =>
        ({ text }) =>
          h('span', {}, text),
    },
  };
};

/** Errors are folded, except conflicts, which differ from operation to operation. */
const isFolded = code => Number(code) >= 400 && code !== '409';

/** Whether a response ends. Swagger UI shows one only then, and cannot stop it earlier. */
const hasEnd = (state, path, method) => {
  const types = state.getIn(['json', 'paths', path, method, 'responses', '200', 'content']);
  return !types?.every((_, type) => type === 'text/event-stream');
};

/** Filters by method, path, summary or tag: Swagger UI itself filters only by path and tag. */
const filterOperations = (tags, phrase) => {
  const sought = phrase.toLowerCase();
  const matches = (tag, operation) =>
    [tag, operation.get('method'), operation.get('path'), operation.getIn(['operation', 'summary'])].some(
      text => String(text).toLowerCase().includes(sought),
    );
  return tags
    .map((tag, name) => tag.update('operations', all => all.filter(operation => matches(name, operation))))
    .filter(tag => tag.get('operations').size > 0);
};
