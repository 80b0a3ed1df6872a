import { plugin } from './plugin.js';
import { repair } from './repair.js';

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
  syntaxHighlight: { theme: 'monokai' },
  tryItOutEnabled: true,
  validatorUrl: null,
});

repair(document.getElementById('page'), {
  'textarea:not([aria-label])': { ariaLabel: 'Request body' },
  '.parameters-col_description > select': { ariaLabel: 'Value' },
  '.examples-select-element': { ariaLabel: 'Example' },
  '.operation-filter-input': {
    ariaLabel: 'Filter operations',
    placeholder: 'Filter by method, path, summary or tag',
  },
  '.opblock-tag, .models h4': { ariaLevel: '2' },
  '.opblock-body h4': { ariaLevel: '3' },
  '.information-container': { role: 'region', ariaLabel: 'About the API' },
  '.models': { role: 'region', ariaLabel: 'Schemas' },
  '.filter': { role: 'region', ariaLabel: 'Filter' },
  '.errors .responses-table': { role: 'region', ariaLabel: 'Errors' },
  '.modal-ux': { role: 'dialog', ariaLabel: 'Available authorizations' },
  '.modal-ux :is(h3, h4)': { ariaLevel: '2' },
  '.close-modal': { ariaLabel: 'Close the dialog' },
  '.modal-ux [type=submit]': { ariaLabel: 'Authorize' },
});
