import { parseEnv } from 'node:util';

/** An assignment, whose quoted value may span lines, or any other line that is not blank. */
const entries =
  /^[ \t]*(?:export +)?(?<name>[\w.-]+)[ \t]*=[ \t]*(?:(?<quote>["'`])[\s\S]*?\k<quote>)?.*$|^.*\S.*$/gm;

/**
 * The names that a `.env` file sets, and what is wrong with its lines. Node ignores a line that it cannot read: with
 * `AUTH_MODE: required` the service would start open. If two lines set one name, Node takes the last. No message
 * repeats a line, which may hold a secret.
 */
export function checkEnvFile(text: string): { names: string[]; problems: string[] } {
  const read = parseEnv(text);
  const found = new Map<string, number>();
  const problems: string[] = [];
  const lines = text.replaceAll(/\r\n?/g, '\n');
  for (const { 0: entry, index, groups: { name = '' } = {} } of lines.matchAll(entries)) {
    if (entry.trimStart().startsWith('#')) continue;
    const line = lines.slice(0, index).split('\n').length;
    const earlier = found.get(name);
    if (!Object.hasOwn(read, name))
      problems.push(`.env, line ${line}, cannot be read: it must be NAME=value`);
    else if (earlier !== undefined)
      problems.push(`.env sets ${name} in line ${earlier} and in line ${line}: keep one`);
    else found.set(name, line);
  }
  return { names: [...found.keys()], problems };
}
