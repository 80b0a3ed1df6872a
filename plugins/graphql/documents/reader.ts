import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
  type Token,
} from 'graphql';
import { DocumentError, limitError, refuse, withCode } from '#plugins/graphql/errors.ts';
import { badRequest } from '#plugins/http/errors.ts';
import type { GraphQLRequest } from '#schemas/service/graphql.ts';
import { AppError } from '#src/core/errors.ts';
import { setBoundedText } from '#src/core/kept.ts';
import type { Metrics } from '#src/telemetry/metrics.ts';
import { sha256, type TrustedDocuments } from './trusted.ts';

/** The estimated cost of an operation before it runs. */
export interface Estimate {
  /** How many requests it counts as: at least one for each root field, as many as REST would need. */
  price: number;
  /** How many records, counts and lookups it could need. */
  most: number;
  /** How many fields it has at its root, including those in fragments. */
  roots: number;
  /** The paths of the members that a field selects of each record, by the path of the field. */
  leaves: ReadonlyMap<string, ReadonlySet<string>>;
}

/** One operation of a document. The same text and name give the same object, so that results can be kept on it. */
export interface Operation {
  readonly document: DocumentNode;
  readonly definition: OperationDefinitionNode;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** Kept if no variable can change it. */
  estimate?: Estimate;
  validationErrors?: readonly GraphQLError[];
}

/** The most characters of all kept documents: a parsed document can take 200 bytes for each. */
export const keptCharacters = 400_000;
const maxCharacters = 50_000;

/**
 * Returns the function that reads an operation. Documents are kept by their SHA-256: a client can send the hash of a
 * known document instead of its text (automatic persisted queries), and an operator can say which documents run.
 */
export function makeReader(maxTokens: number, metrics: Metrics, trusted?: TrustedDocuments) {
  const kept = new Map<string, { length: number; operations: Operation[] }>();
  metrics.caches.set('graphql_documents', () => kept.size);

  return (request: GraphQLRequest): Operation => {
    const { query, operationName } = request;
    const own = query === undefined ? undefined : sha256(query);
    const hash = namedHash(request) ?? own;
    if (hash === undefined) throw badRequest('The request has no query.');
    if (!trusted && own !== undefined && own !== hash)
      throw badRequest('The hash in persistedQuery does not match the query.');
    let known = kept.get(hash);
    if (!known) {
      const text = trusted ? trusted.get(hash) : query;
      if (text === undefined) throw query === undefined ? unknownHash() : untrusted();
      known = { length: text.length, operations: parseOperations(text, maxTokens) };
    }
    // Sets a document anew at each use, so that the least recently used one goes first.
    setBoundedText(kept, hash, known, keptCharacters);
    return selectOperation(known.operations, operationName || undefined);
  };
}

function namedHash({ extensions }: GraphQLRequest): string | undefined {
  const { version, sha256Hash } = (extensions?.persistedQuery ?? {}) as Record<string, unknown>;
  if (sha256Hash === undefined) return undefined;
  if (version !== 1 || typeof sha256Hash !== 'string')
    throw badRequest('persistedQuery must have version 1 and a sha256Hash.');
  return sha256Hash;
}

/** The message is part of the protocol: it makes a client send the text. */
const unknownHash = () => refuse('PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound');
const untrusted = () => new AppError('forbidden', 'This service runs trusted documents only.');

/** Limits the length and the tokens before anything else. */
function parseOperations(text: string, maxTokens: number): Operation[] {
  const { length } = text;
  if (length > maxCharacters)
    throw new DocumentError([limitError('LENGTH_LIMIT_EXCEEDED', 'characters', length, maxCharacters)]);
  const document = parseDocument(text, maxTokens);
  const fragments = new Map(
    document.definitions
      .filter(definition => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map(fragment => [fragment.name.value, fragment]),
  );
  const operations = document.definitions.filter(definition => definition.kind === Kind.OPERATION_DEFINITION);
  for (const definition of operations) checkRoot(definition);
  return operations.map(definition => ({ document, definition, fragments }));
}

/** Protects the graphql library's validation, which throws if a directive leaves a subscription without a field. */
function checkRoot({ operation, selectionSet: { selections } }: OperationDefinitionNode): void {
  const [field] = selections;
  const isOne = selections.length === 1 && field?.kind === Kind.FIELD && !field.directives?.length;
  if (operation === OperationTypeNode.SUBSCRIPTION && !isOne)
    throw refuse(
      'GRAPHQL_VALIDATION_FAILED',
      'A subscription selects exactly one field, without a fragment or a directive.',
    );
}

function parseDocument(text: string, maxTokens: number): DocumentNode {
  try {
    const document = parse(text, { maxTokens });
    unlinkTokens(document);
    return document;
  } catch (error) {
    // Any other error is a RangeError: the parser ran out of stack.
    const problem =
      error instanceof GraphQLError ? error : new GraphQLError('The document is nested too deeply.');
    // The parser stops at the limit of tokens, and only its message says so.
    if (problem.message.startsWith('Syntax Error: Document contains more that'))
      throw new DocumentError([limitError('TOKEN_LIMIT_EXCEEDED', 'tokens', maxTokens + 1, maxTokens)]);
    throw new DocumentError(withCode('GRAPHQL_PARSE_FAILED', [problem]));
  }
}

/** Mercurius clones a document recursively, and the linked list of its tokens would overflow the stack. */
function unlinkTokens({ loc }: DocumentNode): void {
  let token: { -readonly [K in keyof Token]: Token[K] } | null = loc?.startToken ?? null;
  while (token) {
    const next: Token | null = token.next;
    token.prev = token.next = null;
    token = next;
  }
}

function selectOperation(operations: Operation[], name: string | undefined): Operation {
  const [operation, another] = operations.filter(
    ({ definition }) => name === undefined || definition.name?.value === name,
  );
  // Validation refuses operations with the same name.
  if (operation && (name !== undefined || !another)) return operation;
  const message = `Select an operation with operationName. Operations in the document: ${operations.length}.`;
  throw refuse('BAD_REQUEST', message);
}
