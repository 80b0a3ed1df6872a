import { plugin } from './plugin.js';

// Swagger UI has dark colours, and leaves it to the page when to use them.
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();

SwaggerUIBundle({
  url: '/docs/json',
  dom_id: '#page',
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [plugin],
  layout: 'BaseLayout',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  // In the storage of this browser for this address, until one logs out.
  persistAuthorization: true,
  syntaxHighlight: { theme: 'monokai' },
  tryItOutEnabled: true,
  validatorUrl: null,
});

/** What Swagger UI leaves without a name or a level, for those who do not see the page. */
const labels = {
  textarea: 'Request body',
  '.examples-select-element': 'Example',
  '.operation-filter-input': 'Filter operations',
  'select.content-type': 'Media type',
};
const levels = { '.opblock-tag, .models h4': '2', '.opblock-body h4': '3' };
const regions = {
  '.information-container': 'About the API',
  '.models': 'Schemas',
  '.filter': 'Filter',
  '.errors .responses-table': 'Errors',
};
function repairLabels() {
  for (const [selector, label] of Object.entries(labels))
    for (const element of document.querySelectorAll(`${selector}:not([aria-label])`))
      element.ariaLabel = label;
  for (const [selector, level] of Object.entries(levels))
    for (const heading of document.querySelectorAll(selector)) heading.ariaLevel = level;
  for (const [selector, label] of Object.entries(regions))
    for (const element of document.querySelectorAll(selector))
      Object.assign(element, { role: 'region', ariaLabel: label });
  const filter = document.querySelector('.operation-filter-input');
  if (filter) filter.placeholder = 'Filter by method, path, summary or tag';
}
new MutationObserver(repairLabels).observe(document.getElementById('page'), {
  subtree: true,
  childList: true,
});
