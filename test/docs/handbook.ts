import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Test } from 'tap';
import { serviceName } from '#schemas/name.ts';
import { has } from '#test/rig/openCluster.ts';

export interface Block {
  kind: string;
  file: string;
  text: string;
}

/** Returns the fenced blocks of a page, or of one section of it. */
export function blocksOf(page: string, heading?: string): Block[] {
  const whole = readFileSync(page, 'utf8');
  const section = heading ? whole.split(/^(?=## )/m).find(part => part.startsWith(`## ${heading}`)) : whole;
  return [...(section ?? '').matchAll(/^```(\w*) ?(.*)\n([\s\S]*?)^```$/gm)].map(
    ([, kind = '', file = '', text = '']) => ({ kind, file, text }),
  );
}

const excluded = ['node_modules', '.git', '.tap', 'data'];

/** The commands that run once after the last page, for all pages. */
const doneLater = ['npm run format', 'npm run generate', 'npm run check'];

/** Follows the steps of a page in a folder: writes its files, runs its commands, and notes the tests that it names. */
export async function walk(
  t: Test,
  steps: Block[],
  folder: string,
  tests: Record<string, Set<string>>,
): Promise<void> {
  for (const { kind, file, text } of steps)
    if (file) t.doesNotThrow(() => write(folder, { kind, file, text }), file);
    else
      for (const line of kind === 'sh' ? text.trim().split('\n') : []) {
        const [, suite = '', files = ''] = /^npm test -- (\w+) (.*)$/.exec(line) ?? [];
        if (suite) for (const name of files.split(' ')) tests[suite]?.add(name);
        // The packages of the guides are among those of the tests.
        else if (!doneLater.includes(line) && !line.startsWith('npm install '))
          await succeeds(t, line, folder);
      }
}

/** Runs a command, which must succeed. */
export async function succeeds(t: Test, line: string, folder: string): Promise<void> {
  const { code, output } = await command(line, folder);
  t.equal(code, 0, `${line}${code === 0 ? '' : `\n${output}`}`);
}

/** Tests that find resources in lists or in the document, and so test new ones too. */
export const testsOfNewResources = [
  ...['access/own', 'access/ownGraphql', 'docs/openapi', 'http/requests/idempotentRoutes'],
  ...['core/layers', 'records/scopes', 'rest/walks'],
].map(test => `test/${test}.test.ts`);

/** Copies the project into a folder of its own, which shares only the installed packages. */
export function copyProject(): string {
  const folder = mkdtempSync(join(tmpdir(), 'triport-walk-'));
  cpSync('.', folder, { recursive: true, filter: path => !excluded.includes(basename(path)) });
  symlinkSync(realpathSync('node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** Writes a new file, or changes one as a `diff` block shows. Throws if the block does not fit what is there. */
export function write(folder: string, { kind, file: named, text }: Block): void {
  // The page writes `*` for the number of a migration, which depends on those before it.
  const [file = named, another] = named.includes('*') ? globSync(named, { cwd: folder }) : [named];
  if (another !== undefined) throw new Error(`${named} is both ${file} and ${another}`);
  const path = join(folder, file);
  if (kind !== 'diff') {
    if (existsSync(path)) {
      if (textOf(path) !== text) throw new Error(`${file} is not as the page shows it`);
      return;
    }
    // The command may have used another number: this would write a second file beside its own.
    if (kind === 'sql') throw new Error(`${file} is not there: a command of the page writes it`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return;
  }
  let content = textOf(path);
  for (const hunk of text.split(/^@@\n/m)) {
    const lines = hunk.trimEnd().split('\n');
    const side = (leaveOut: string) =>
      lines
        .filter(line => line[0] !== leaveOut)
        .map(line => `${line.slice(1)}\n`)
        .join('');
    const pieces = `\n${content}`.split(`\n${side('+')}`);
    if (pieces.length !== 2)
      throw new Error(`${file} must have this once, not ${pieces.length - 1} times:\n${side('+')}`);
    content = pieces.join(`\n${side('-')}`).slice(1);
  }
  writeFileSync(path, content);
}

/** Reads a file and makes it end with a newline: drizzle-kit ends its files without one. */
const textOf = (path: string) => `${readFileSync(path, 'utf8').trimEnd()}\n`;

/** Replaces what differs in each run: ids, times, keys. */
const anonymous = (text: string) =>
  text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
    .replace(/evt_[0-9a-f]{32}/g, '<event>')
    // The pages keep the name `triport` after the service has got another one.
    .replaceAll('triport', serviceName)
    .replace(new RegExp(`${serviceName}_[0-9a-f]{32}_[\\w-]+`, 'g'), '<key>')
    .replace(/"(next|previous)": ?"[\w-]+"/g, '"$1":"<cursor>"')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>');

/** The programs that the commands of pages need and that are not installed. */
export const missing = ['curl', 'openssl'].filter(program => !has(program));

/** Says that the registry of npm does not have a package, or does not answer. */
export async function missingPackage(name: string): Promise<string | false> {
  // An empty cache makes npm ask the registry.
  const look = `npm view ${name} name --fetch-retries=1 --fetch-retry-mintimeout=1000`;
  const { code } = await command(`${look} --cache '${tmpdir()}/npm'`);
  return code !== 0 && 'the registry of npm does not answer';
}

interface Where {
  /** The section of the page whose blocks run; all sections by default. */
  heading?: string;
  folder?: string;
  variables?: Record<string, string>;
}

/**
 * Runs the `sh` blocks of a page in one shell, and compares what each prints with the block that follows: `json` as a
 * value, `http` by its headers and body, `text` line by line. The printed text may have more headers and lines.
 */
export async function runBlocks(
  t: Test,
  page: string,
  origin: string,
  { heading, folder, variables = {} }: Where = {},
) {
  const kinds = ['sh', 'json', 'http', 'text'];
  const blocks = blocksOf(page, heading).filter(({ kind, file }) => !file && kinds.includes(kind));
  const separator = 'next block';
  const given = Object.entries({ ...variables, PORT: new URL(origin).port });
  const lines = [
    given.map(([name, value]) => `export ${name}='${value}'\n`).join(''),
    ...blocks.map(({ kind, text }) => (kind === 'sh' ? `echo; echo '${separator}'\n${text}` : '')),
  ];
  const { output } = await command(lines.join('').replaceAll('http://127.0.0.1:3000', origin), folder);
  const answers = output.split(`${separator}\n`).slice(1);

  let last = '';
  for (const { kind, text } of blocks) {
    if (kind === 'sh') last = anonymous(answers.shift()?.trim().replaceAll('\r', '') ?? '');
    else if (kind === 'json') t.same(parse(last), parse(anonymous(text)), `${page}: ${last}`);
    else {
      const [head = '', body] = anonymous(text.trim()).split('\n\n');
      const [realHead = '', realBody] = last.split('\n\n');
      for (const line of head.split('\n'))
        t.ok(realHead.split('\n').includes(line), `${page}: ${line}`, { printed: last });
      t.equal(realBody, body, page);
    }
  }
  t.equal(answers.length, 0, 'every command was run');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Runs a command without the environment variables of the test runner. */
export async function command(line: string, folder = '.'): Promise<{ code: number | null; output: string }> {
  const { PATH, HOME, TEST_MEMORY = '', NODE_COMPILE_CACHE = '' } = process.env;
  // A network may have a proxy and its own certificates, and npm looks for its global configuration beside Node.
  const { HTTPS_PROXY, NODE_EXTRA_CA_CERTS, npm_config_globalconfig } = process.env;
  const network = { HTTPS_PROXY, NODE_EXTRA_CA_CERTS, npm_config_globalconfig };
  // `npm_config_update_notifier` keeps npm from asking the network for a newer version of itself.
  const settings = { npm_config_update_notifier: 'false', ...network };
  const env = { PATH, HOME, TEST_MEMORY, NODE_COMPILE_CACHE, ...settings };
  const child = spawn('sh', ['-c', line], { cwd: folder, env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (output += data));
  const code = await new Promise<number | null>(resolve => child.on('close', resolve));
  return { code, output };
}
