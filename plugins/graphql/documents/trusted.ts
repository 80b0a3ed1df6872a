import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { OperatorError } from '#src/core/errors.ts';

export const sha256 = (text: string) => hash('sha256', text);

/** Texts by their hash. */
export type TrustedDocuments = Map<string, string>;

/** Reads the file at startup; a mistake in it is fatal. */
export function readTrustedDocuments(path: string): TrustedDocuments {
  try {
    const documents: Record<string, string> = JSON.parse(readFileSync(path, 'utf8'));
    const wrong = Object.keys(documents).find(name => sha256(String(documents[name])) !== name);
    if (wrong !== undefined) throw new Error(`${wrong} is not the SHA-256 of its document`);
    return new Map(Object.entries(documents));
  } catch (error) {
    throw new OperatorError(`GRAPHQL_TRUSTED_DOCUMENTS: ${(error as Error).message}`);
  }
}
