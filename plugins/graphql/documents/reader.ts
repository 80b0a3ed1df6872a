import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  Lexer,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
  Source,
  type Token,
  TokenKind,
} from 'graphql';
import { DocumentError, limitError, refuse, withCode } from '../errors.ts';
import { RecentCache } from './recentCache.ts';

/** One operation of a document. The same text and name give the same object, so that results can be kept on it. */
export interface Operation {
  readonly document: DocumentNode;
  readonly definition: OperationDefinitionNode;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** How many requests it counts as; set when that does not depend on variables. */
  price?: number;
  /** Set once it was validated. */
  validationErrors?: readonly GraphQLError[];
}

interface Document {
  node: DocumentNode;
  definitions: OperationDefinitionNode[];
  operations: Map<OperationDefinitionNode, Operation>;
  fragments: Map<string, FragmentDefinitionNode>;
}

/** How many documents stay parsed: those that were used most recently. */
export const keptDocuments = 256;

/** Registers a cache with the metrics. */
export type WatchCache = (name: string, size: () => number) => void;

/** Returns the function that reads an operation. Length and tokens are limited before anything else. */
export function makeReader({ length, tokens }: { length: number; tokens: number }, watchCache: WatchCache) {
  const kept = new RecentCache<Document>(keptDocuments);
  watchCache('graphql_documents', () => kept.size);

  return (text: string, name: string | undefined): Operation => {
    const document = kept.get(text) ?? parseDocument(text, length, tokens);
    kept.set(text, document);
    return selectOperation(document, name);
  };
}

function parseDocument(text: string, length: number, tokens: number): Document {
  if (text.length > length)
    throw new DocumentError([limitError('LENGTH_LIMIT_EXCEEDED', 'characters', text.length, length)]);
  const node = parseNode(text, tokens);
  const fragments = node.definitions.filter(definition => definition.kind === Kind.FRAGMENT_DEFINITION);
  return {
    node,
    definitions: node.definitions.filter(definition => definition.kind === Kind.OPERATION_DEFINITION),
    operations: new Map(),
    fragments: new Map(fragments.map(fragment => [fragment.name.value, fragment])),
  };
}

function parseNode(text: string, maxTokens: number): DocumentNode {
  try {
    const node = parse(text, { maxTokens });
    refuseProto(node);
    unlinkTokens(node.loc?.startToken);
    return node;
  } catch (error) {
    const tokens = countTokens(text);
    if (tokens > maxTokens)
      throw new DocumentError([limitError('TOKEN_LIMIT_EXCEEDED', 'tokens', tokens, maxTokens)]);
    // Otherwise a RangeError: the parser ran out of stack.
    const problem =
      error instanceof GraphQLError ? error : new GraphQLError('The document is nested too deeply.');
    throw new DocumentError(withCode('GRAPHQL_PARSE_FAILED', [problem]));
  }
}

/**
 * Mercurius keeps variables and results in plain objects: a `limit` from a variable of this name was not applied, and a
 * field under this alias was missing.
 */
function refuseProto({ loc }: DocumentNode): void {
  for (let token = loc?.startToken ?? null; token; token = token.next)
    if (token.kind === TokenKind.NAME && token.value === '__proto__')
      throw new GraphQLError('The name __proto__ cannot be used.', {
        source: loc?.source ?? null,
        positions: [token.start],
      });
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Mercurius copies a document recursively, and a linked list of tokens is as deep as the document is long. */
function unlinkTokens(first: Token | undefined): void {
  let token: Writable<Token> | null = first ?? null;
  while (token) {
    const next: Token | null = token.next;
    token.prev = token.next = null;
    token = next;
  }
}

function countTokens(text: string): number {
  const lexer = new Lexer(new Source(text));
  let count = 0;
  try {
    while (lexer.advance().kind !== TokenKind.EOF) count++;
  } catch {
    // An invalid character ends the count.
  }
  return count;
}

function selectOperation(document: Document, name: string | undefined): Operation {
  const { node, definitions, operations, fragments } = document;
  const definition =
    name === undefined ? definitions[0] : definitions.find(candidate => candidate.name?.value === name);
  if (!definition || (name === undefined && definitions.length > 1))
    throw unknownOperation(name, definitions);
  if (definition.operation === OperationTypeNode.SUBSCRIPTION)
    throw refuse('GRAPHQL_VALIDATION_FAILED', 'Subscriptions are not supported. Use a query.');
  const known = operations.get(definition);
  if (known) return known;
  // A copy, because Mercurius keeps one compiled query for each document object.
  const operation = { document: { ...node }, definition, fragments };
  operations.set(definition, operation);
  return operation;
}

function unknownOperation(name: string | undefined, definitions: OperationDefinitionNode[]): DocumentError {
  if (definitions.length === 0) return refuse('BAD_REQUEST', 'The document has no operation.');
  if (name === undefined)
    return refuse('BAD_REQUEST', 'The document has several operations. Select one with operationName.');
  return refuse('BAD_REQUEST', 'The document has no operation with the name in operationName.');
}
