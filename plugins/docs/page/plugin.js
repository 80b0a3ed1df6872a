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
      // Without TLS, browsers let only pages of this machine write to the clipboard.
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
    const shared = responses.filter(response => response.get('x-shared'));
    const codes = [...shared.keys()].join(', ');
    return h(
      'div',
      {},
      samplesOf(path, method),
      h(Responses, { ...props, responses: responses.filterNot(response => response.get('x-shared')) }),
      shared.size > 0 &&
        h(
          'details',
          { className: 'more shared' },
          h('summary', {}, `Errors that many operations share: ${codes}`),
          h(Responses, { ...props, responses: shared, tryItOutResponse: null }),
        ),
    );
  };

  /** Each answer has about seven. */
  const foldHeaders = Headers => props =>
    h(
      'details',
      { className: 'headers' },
      h('summary', {}, `Headers: ${[...(props.headers?.keys() ?? [])].join(', ')}`),
      h(Headers, props),
    );

  return {
    wrapComponents: {
      responses: withMore,
      headers: foldHeaders,
      // It would be a link within a button.
      DeepLink:
        () =>
        ({ text }) =>
          h('span', {}, text),
    },
  };
};
