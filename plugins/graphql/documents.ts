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
import { DocumentError, limitError, refuse, withCode } from './errors.ts';
import { Recent } from './recentCache.ts';

/** One operation of a document. The same text and name give the same object, so that work on it can be kept. */
export interface Operation {
  readonly document: DocumentNode;
  readonly definition: OperationDefinitionNode;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** What it is charged, set when the limits hold whatever the variables are. */
  price?: number;
  /** What the validation found, once it was asked. */
  faults?: readonly GraphQLError[];
}

interface Document {
  node: DocumentNode;
  definitions: OperationDefinitionNode[];
  operations: Map<OperationDefinitionNode, Operation>;
  fragments: Map<string, FragmentDefinitionNode>;
}

/** How many documents are kept; beyond them, the ones used longest ago are parsed again. */
export const keptDocuments = 256;

/** Is told of a cache, and may ask for its size at any time. */
export type Watch = (name: string, size: () => number) => void;

/** Turns a text into an operation: parsed once, bounded in length and tokens before anything else. */
export function makeReader({ length, tokens }: { length: number; tokens: number }, watch: Watch) {
  const kept = new Recent<Document>(keptDocuments);
  watch('graphql_documents', () => kept.size);

  return (text: string, name: string | undefined): Operation => {
    const document = kept.get(text) ?? read(text, length, tokens);
    kept.set(text, document);
    return choose(document, name);
  };
}

function read(text: string, length: number, tokens: number): Document {
  if (text.length > length)
    throw new DocumentError([limitError('LENGTH_LIMIT_EXCEEDED', 'characters', text.length, length)]);
  const node = parseBounded(text, tokens);
  const fragments = node.definitions.filter(definition => definition.kind === Kind.FRAGMENT_DEFINITION);
  return {
    node,
    definitions: node.definitions.filter(definition => definition.kind === Kind.OPERATION_DEFINITION),
    operations: new Map(),
    fragments: new Map(fragments.map(fragment => [fragment.name.value, fragment])),
  };
}

function parseBounded(text: string, maxTokens: number): DocumentNode {
  try {
    const node = parse(text, { maxTokens });
    refuseUnusable(node);
    unchain(node.loc?.startToken);
    return node;
  } catch (error) {
    const tokens = countTokens(text);
    if (tokens > maxTokens)
      throw new DocumentError([limitError('TOKEN_LIMIT_EXCEEDED', 'tokens', tokens, maxTokens)]);
    // The other kind is a RangeError: brackets nested so deeply that the parser ran out of stack.
    const problem =
      error instanceof GraphQLError ? error : new GraphQLError('The document is nested too deeply.');
    throw new DocumentError(withCode('GRAPHQL_PARSE_FAILED', [problem]));
  }
}

/**
 * The libraries that run a document keep variables and results in plain objects, where `__proto__` is no name like
 * others: a `limit` from a variable of that name was not applied, and a field under that alias was missing.
 */
function refuseUnusable({ loc }: DocumentNode): void {
  for (let token = loc?.startToken ?? null; token; token = token.next)
    if (token.kind === TokenKind.NAME && token.value === '__proto__')
      throw new GraphQLError('The name __proto__ cannot be used.', {
        source: loc?.source ?? null,
        positions: [token.start],
      });
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Tokens point at each other in a chain as long as the document, and Mercurius copies what it is given recursively. */
function unchain(first: Token | undefined): void {
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
    // What comes after a character that is no token does not matter any more.
  }
  return count;
}

function choose(document: Document, name: string | undefined): Operation {
  const { node, definitions, operations, fragments } = document;
  const definition = name === undefined ? definitions[0] : definitions.find(one => one.name?.value === name);
  if (!definition || (name === undefined && definitions.length > 1))
    throw unknownOperation(name, definitions);
  if (definition.operation === OperationTypeNode.SUBSCRIPTION)
    throw refuse('GRAPHQL_VALIDATION_FAILED', 'There are no subscriptions here: ask with a query.');
  const known = operations.get(definition);
  if (known) return known;
  // A copy for each operation: Mercurius keeps one compiled query for each document, and would run the wrong one.
  const operation = { document: { ...node }, definition, fragments };
  operations.set(definition, operation);
  return operation;
}

function unknownOperation(name: string | undefined, definitions: OperationDefinitionNode[]): DocumentError {
  if (definitions.length === 0) return refuse('BAD_REQUEST', 'The document has no operation.');
  if (name === undefined)
    return refuse('BAD_REQUEST', 'The document has several operations: name one in operationName.');
  return refuse('BAD_REQUEST', 'The document has no operation of the name in operationName.');
}
