import { parseEnv } from 'node:util';

const assignment = /^[ \t]*(?:export +)?(?<name>[\w.-]+)[ \t]*=[ \t]*(?<quote>["'`])?/;
const blankOrComment = /^\s*(#.*)?$/;

/**
 * The names that a `.env` file sets, and the lines of it that Node ignores: with `AUTH_MODE: required` the service would
 * start open. No message repeats the line, which may hold a secret.
 */
export function checkEnvFile(text: string): { names: string[]; problems: string[] } {
  const read = parseEnv(text);
  const names: string[] = [];
  const problems: string[] = [];
  const lines = text.split(/\r\n|\r|\n/);
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? '';
    if (blankOrComment.test(line)) continue;
    const { 0: start = '', groups: { name = '', quote } = {} } = assignment.exec(line) ?? {};
    if (Object.hasOwn(read, name)) names.push(name);
    else problems.push(`.env, line ${i + 1}, cannot be read: it must be NAME=value`);
    // A value in quotes may span lines. Where no quote closes it, Node ends it with the line.
    if (!quote || line.includes(quote, start.length)) continue;
    const last = lines.findIndex((other, at) => at > i && other.includes(quote));
    if (last > i) i = last;
  }
  return { names, problems };
}
