import { escapeHtml } from '#plugins/pages/assets.ts';
import { titleOf } from '#plugins/pages/titles.ts';
import { serviceName, serviceTitle } from '#schemas/name.ts';
import { requiredExamples } from '#schemas/parts/contract.ts';
import type { Settings } from '#schemas/settings.ts';
import type { Followed } from '#src/changes/followed.ts';
import type { AnyResource } from '#src/records/resource.ts';
import type { Handlers } from '#src/webhooks/handler.ts';

/** What is counted on the page. */
export type Counted = Followed & Pick<AnyResource, 'plural' | 'nouns' | 'path' | 'list'>;

export interface Link {
  name: string;
  path: string;
  text: string;
}

/** What is the same for all who see the page. */
export interface Described {
  version: string;
  settings: Settings;
  /** Whether callers need no credentials. */
  open: boolean;
  /** Whether GraphQL has its tool. */
  hasTool: boolean;
  links: Link[];
  counted: Counted[];
  /** The resource that the example creates. */
  first: AnyResource;
  /** The query of the example. */
  look: string;
  handlers: Handlers;
}

/** What is so at this moment, and for this caller. */
interface Seen {
  /** The address of the service. */
  origin: string;
  isReady: boolean;
  mayRead: boolean;
  isAdmin: boolean;
  /** Absent for callers who may not read, and while the database is away. */
  counts: Record<string, number> | undefined;
}

const icons = {
  plug: 'M8 13.5v-3M4.5 6h7v1.5a3.5 3.5 0 0 1-7 0V6ZM6 6V2.5M10 6V2.5',
  database:
    'M13 4.25c0 1-2.2 1.9-5 1.9s-5-.9-5-1.9 2.2-1.9 5-1.9 5 .9 5 1.9Zm-10 0v7.5c0 1 2.2 1.9 5 1.9s5-.9 5-1.9v-7.5M3 8c0 1 2.2 1.9 5 1.9S13 9 13 8',
  lock: 'M4.75 7h6.5a1.5 1.5 0 0 1 1.5 1.5v3.25a1.5 1.5 0 0 1-1.5 1.5h-6.5a1.5 1.5 0 0 1-1.5-1.5V8.5A1.5 1.5 0 0 1 4.75 7Zm.75 0V5a2.5 2.5 0 0 1 5 0v2',
  copy: 'M5.5 5.5H13V13H5.5ZM3 10.2V3h7.2',
};
const icon = (name: keyof typeof icons) =>
  `<svg class="i" viewBox="0 0 16 16" aria-hidden="true"><path d="${icons[name]}"/></svg>`;

const signs = {
  rest: 'M14 15c-2 0-2.5 1-2.5 2.5v2.3c0 1.5-.8 2.2-2 2.2 1.2 0 2 .7 2 2.2v2.3c0 1.5.5 2.5 2.5 2.5M20 15c2 0 2.5 1 2.5 2.5v2.3c0 1.5.8 2.2 2 2.2-1.2 0-2 .7-2 2.2v2.3c0 1.5-.5 2.5-2.5 2.5',
  graphql:
    'M17 13.3a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4ZM11 24.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4ZM23 24.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4ZM16 17.5l-4 7.5M18 17.5l4 7.5M13.2 27h7.6',
  webhooks: 'M9.5 17.5h15v11h-15zM9.5 18l7.5 6 7.5-6',
};

const anchor = (path: string, text: string) => `<a href="${escapeHtml(path)}">${escapeHtml(text)}</a>`;

/** A text that the reader can copy, if the page runs its script. */
const copyable = (text: string, what: string) =>
  `<div class="copy"><pre><code>${escapeHtml(text)}</code></pre><button type="button" class="quiet tiny" aria-label="Copy the ${what}" title="Copy the ${what}" hidden>${icon('copy')}</button></div>`;

const keyCommand = 'npm run -s keys -- create --name first --scopes admin';
const nextCommand = (parent: string) =>
  `npm run new -- invoice --belongs-to ${parent} \\
  --fields 'number:string:unique,amount:cents,status:draft|sent|paid'`;

/** The body of the page. Its script says what comes in. */
export function homePage(described: Described, seen: Seen): string {
  const { version, open, links } = described;
  return `<div class="home">
<header class="top"><a class="brand" href="/"><span class="mark"></span>${escapeHtml(serviceTitle)}</a> <small>${version}</small><span class="grow"></span><a class="btn primary" href="/console">Open the console</a></header>
<main>
${heading(described, seen)}
<section class="doors" aria-label="The three doors">${doors(described, seen)}</section>
${stored(described, seen)}
${open ? next(described) : ''}
<footer>${links.map(({ path, text }) => anchor(path, text)).join('\n')}</footer>
</main>
</div>
<p id="toast" role="status"></p>`;
}

function heading({ open, settings }: Described, { origin, isReady, isAdmin }: Seen): string {
  const { DATABASE_URL, DATA_DIR, HOST, TRUST_PROXY } = settings;
  const state = isReady
    ? '<span class="badge good">ready</span>'
    : '<span class="badge warn">waits for its database</span>';
  const place = DATABASE_URL ? 'PostgreSQL' : `Embedded Postgres in <code>${escapeHtml(DATA_DIR)}</code>`;
  const near =
    TRUST_PROXY === '' && /^(localhost|127(\.\d+){3}|::1)$/.test(HOST)
      ? 'and listens on this machine only'
      : 'and is open to everyone who can reach it';
  const facts = [
    state + (isAdmin ? ` started at ${startOfProcess()} UTC` : ''),
    `${icon('plug')}<code>${escapeHtml(origin)}</code>`,
    ...(isAdmin ? [`${icon('database')}<span>${place}</span>`] : []),
    icon('lock') + (open ? `Needs no key, ${near}` : 'Asks for a key or a token'),
  ];
  const lead = open
    ? 'Three doors stand open on the same data. Try one: what is written shows up here at once.'
    : 'Three doors lead to the same data.';
  return `<section class="hero"><h1>${escapeHtml(serviceTitle)} is running.</h1>
<p>${lead}</p>
<ul>${facts.map(fact => `<li>${fact}</li>`).join('\n')}</ul></section>`;
}

/** When the process started: without the date in its first day. */
function startOfProcess() {
  const started = new Date(performance.timeOrigin).toISOString().slice(0, 16).replace('T', ' ');
  return performance.now() < 24 * 3600 * 1000 ? started.slice(11) : started;
}

function doors({ open, hasTool, first, look, handlers }: Described, { origin }: Seen): string {
  const [[preset = 'stripe', types] = []] = handlers;
  const [type = 'payment_intent.succeeded'] = types?.keys() ?? [];
  const provider = preset === 'stripe' ? '' : ` \\\n  --provider ${preset}`;
  const tool = anchor(`/api/graphql#query=${encodeURIComponent(look)}`, 'Open it in GraphiQL');
  return [
    door('rest', 'REST', 'Every record, under <code>/api</code>', {
      example: copyable(creation(first, origin, open), 'command'),
      says: 'Checks it, stores it, and answers with the record',
      links: [anchor('/docs', 'Read and try every request'), anchor('/docs/json', 'OpenAPI')],
    }),
    door('graphql', 'GraphQL', 'The same ones, at <code>/api/graphql</code>', {
      example: copyable(look, 'query'),
      says: 'Answers what you ask for, and only that',
      links: hasTool ? [tool] : [],
    }),
    door('webhooks', 'Webhooks', 'Payments, at <code>/api/webhooks</code>', {
      example: copyable(
        `npm run -s webhook -- send \\\n  ${type} \\\n  --customer cus_123${provider}`,
        'command',
      ),
      says: 'Signs and sends a recorded event',
      links: [anchor('/console#/webhook-events', 'See what came in'), guide('webhooks')],
    }),
  ].join('\n');
}

interface Door {
  /** In HTML. */
  example: string;
  /** What is said until something comes in. */
  says: string;
  links: string[];
}

const door = (sign: keyof typeof signs, name: string, where: string, { example, says, links }: Door) =>
  `<article class="door"><header><svg viewBox="0 0 34 40" aria-hidden="true"><path class="back" d="M2 39V16a15 15 0 0 1 30 0v23"/><path d="M1 39h32"/><path d="${signs[sign]}"/></svg><div><h2>${name}</h2><p>${where}</p></div></header>
${example}<p class="answer" id="${sign}"><span role="status">${says}</span> <span class="when"></span></p><footer>${links.join('\n')}</footer></article>`;

/** A command that creates a record, with a member in each line. */
function creation({ path, contract }: AnyResource, origin: string, open: boolean): string {
  const body = JSON.stringify(requiredExamples(contract.create), null, 7)
    .replace(/^{\s+/, '{')
    .replace(/\s+}$/, '}')
    .replaceAll("'", `'\\''`);
  const key = open ? '' : ` \\\n  -H "Authorization: Bearer $API_KEY"`;
  return `curl ${origin}/api/${path}${key} \\\n  -H 'Content-Type: application/json' \\\n  -d '${body}'`;
}

/** The counts, or why there are none. */
function stored({ counted }: Described, { mayRead, counts }: Seen): string {
  if (counts)
    return `<nav class="floor" aria-label="What is stored">${counted
      .map(each => count(each, counts[each.plural] ?? 0))
      .join('\n')}</nav>`;
  if (mayRead) return '<p class="floor soft">The counts are here when the database is back.</p>';
  return `<div class="floor soft"><p>What is stored is for callers who may read. The administrator makes the first key on the server, with the embedded database while the service is stopped. <code>API_KEY</code> stands for it:</p>${copyable(keyCommand, 'command')}</div>`;
}

function count(resource: Counted, number: number): string {
  const { path, plural, name, nouns } = resource;
  const title = titleOf(resource) ?? '';
  return `<a href="/console#/${path}" data-plural="${plural}" data-name="${name}" data-title="${title}"><b>${number.toLocaleString('en')}</b> <small></small> <span>${escapeHtml(nouns)}</span></a>`;
}

const next = ({
  first,
}: Described) => `<section class="next"><h2>What is next</h2><p class="soft">The guides are files of the project.</p><ol>
${step('Look inside', 'Every record, event and key', '<p class="soft">The console finds, shows, corrects and deletes them, and marks what changes.</p>', '<a class="btn" href="/console">Console</a>')}
${step('Add a resource', 'Yours: with table, rules, tests', copyable(nextCommand(first.name), 'command'), guide('add-a-resource'))}
${step('Let people sign in', 'They read, and write what is theirs', '<p class="soft">Any issuer of tokens will do: one of your own beside this service, Auth0, Keycloak, Supabase.</p>', guide('sign-in'))}
${step('Go to production', 'These lines in <code>.env</code>', copyable(`NODE_ENV=production\nAUTH_MODE=required\nDATABASE_URL=postgres://user:password@host:5432/${serviceName}`, 'lines'), guide('running-many'))}
</ol></section>`;

const step = (title: string, text: string, how: string, where: string) =>
  `<li><div><h3>${title}</h3><p>${text}</p></div>${how}${where}</li>`;

/** Guides are files of the project, which whoever extends it has at hand. */
const guide = (name: string) => `<code class="guide">docs/${name}.md</code>`;
