import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../../src/core/errors.ts';

const mark = 'Written by `npm run client`, which overwrites it: do not edit.';
const firstLine = (name: string) => `${name.endsWith('.graphql') ? '#' : '//'} ${mark}\n`;

/** Writes these files, or none of them if one would overwrite somebody's own. */
export function writeGenerated(folder: string, files: Record<string, string>) {
  if (existsSync(folder) && !statSync(folder).isDirectory())
    throw new OperatorError(`${folder} is not a folder.`);
  const targets = Object.entries(files).map(([name, text]) => ({
    path: join(folder, name),
    text: firstLine(name) + text,
  }));
  for (const { path } of targets)
    if (existsSync(path) && !readFileSync(path, 'utf8').split('\n', 1)[0]?.includes(mark))
      throw new OperatorError(
        `${path} was not written by this command. Move it, or name another folder: nothing was written.`,
      );
  mkdirSync(folder, { recursive: true });
  for (const { path, text } of targets) writeFileSync(path, text);
  return targets.map(({ path, text }) => ({ path, bytes: Buffer.byteLength(text) }));
}
