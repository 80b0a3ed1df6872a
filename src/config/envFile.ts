import { parseEnv } from 'node:util';

const assignment = /^[ \t]*(?:export +)?(?<name>[\w.-]+)[ \t]*=[ \t]*(?<quote>["'`])?/;
const blankOrComment = /^\s*(#.*)?$/;

/**
 * The names that a `.env` file sets, and what is wrong with its lines. Node ignores a line that it cannot read: with
 * `AUTH_MODE: required` the service would start open. Of two lines of one name Node takes the last. No message
 * repeats a line, which may hold a secret.
 */
export function checkEnvFile(text: string): { names: string[]; problems: string[] } {
  const read = parseEnv(text);
  const found = new Map<string, number>();
  const problems: string[] = [];
  const lines = text.split(/\r\n|\r|\n/);
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? '';
    if (blankOrComment.test(line)) continue;
    const { 0: start = '', groups: { name = '', quote } = {} } = assignment.exec(line) ?? {};
    const earlier = found.get(name);
    if (!Object.hasOwn(read, name))
      problems.push(`.env, line ${i + 1}, cannot be read: it must be NAME=value`);
    else if (earlier !== undefined)
      problems.push(`.env sets ${name} in line ${earlier} and in line ${i + 1}: keep one`);
    else found.set(name, i + 1);
    // A value in quotes may span lines. Where no quote closes it, Node ends it with the line.
    if (!quote || line.includes(quote, start.length)) continue;
    const last = lines.findIndex((other, at) => at > i && other.includes(quote));
    if (last > i) i = last;
  }
  return { names: [...found.keys()], problems };
}
