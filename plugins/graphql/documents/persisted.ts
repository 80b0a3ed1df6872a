import type { GraphQLRequest } from '../../../schemas/graphql.ts';
import { setBoundedText } from '../../../src/core/kept.ts';
import type { Metrics } from '../../../src/telemetry/metrics.ts';
import { refuse } from '../errors.ts';
import { sha256, type TrustedDocuments } from './trusted.ts';

/** Characters. */
const keptTexts = 1_000_000;

/** Automatic persisted queries: a client sends the hash, and the text only when the hash is unknown. */
export function automaticDocuments(metrics: Metrics) {
  const texts = new Map<string, string>();
  metrics.watchCache('graphql_texts', () => texts.size);
  return {
    find(request: GraphQLRequest): string {
      const hash = documentHashOf(request);
      const { query = hash && texts.get(hash) } = request;
      if (query === undefined) throw hash === undefined ? noQuery() : unknownHash();
      if (hash !== undefined && sha256(query) !== hash)
        throw refuse('BAD_REQUEST', 'The hash in persistedQuery does not match the query.', 400);
      return query;
    },
    /** For a document within the limits: no other text is kept. The least recently used one goes first. */
    keep(request: GraphQLRequest, text: string): void {
      const hash = documentHashOf(request);
      if (hash !== undefined) setBoundedText(texts, hash, text, keptTexts);
    },
  };
}

export function trustedDocuments(texts: TrustedDocuments): ReturnType<typeof automaticDocuments> {
  return {
    find(request) {
      const { query } = request;
      const hash = documentHashOf(request) ?? (query !== undefined && sha256(query));
      if (!hash) throw noQuery();
      const text = texts.get(hash);
      if (text === undefined) throw query === undefined ? unknownHash() : untrusted();
      return text;
    },
    keep() {},
  };
}

function documentHashOf({ extensions }: GraphQLRequest): string | undefined {
  const { version, sha256Hash } = (extensions?.persistedQuery ?? {}) as Record<string, unknown>;
  if (sha256Hash === undefined) return undefined;
  if (version !== 1 || typeof sha256Hash !== 'string')
    throw refuse('BAD_REQUEST', 'persistedQuery must have version 1 and a sha256Hash.', 400);
  return sha256Hash;
}

/** The message is part of the protocol: it makes a client send the text. */
const unknownHash = () => refuse('PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound');
const noQuery = () => refuse('BAD_REQUEST', 'The request has no query.', 400);
const untrusted = () => refuse('FORBIDDEN', 'This service runs trusted documents only.', 403);
