import type { FastifyInstance } from 'fastify';
import {
  type ExecutionResult,
  getVariableValues,
  NoSchemaIntrospectionCustomRule,
  specifiedRules,
  validate,
} from 'graphql';
import mercurius, { type MercuriusError } from 'mercurius';
import type { Settings } from '../../schemas/settings.ts';
import type { Context } from '../../src/core/context.ts';
import { inChildSpan } from '../../src/telemetry/tracing.ts';
import { keptDocuments, type Operation } from './documents.ts';
import { DocumentError, withCode } from './errors.ts';
import { makeLoaders } from './loaders.ts';
import { Allowance } from './recordBudget.ts';
import { makeResolvers, type Visit } from './resolvers.ts';
import { makeSchema } from './sdl.ts';

type Variables = Record<string, unknown>;

interface Ran extends ExecutionResult {
  /** How many records it read in all. */
  read: number;
}

/** After so many runs a query is compiled, and costs half from then on. */
const runsBeforeCompiling = 2;
/** Records that one request may read in all. */
const mostRecords = 50_000;

/** Puts Mercurius to work without its routes; returns the schema and the function that runs an operation. */
export async function openExecutor(app: FastifyInstance, settings: Settings) {
  const schema = makeSchema();
  const closed = settings.GRAPHQL_INTROSPECTION === 'off';
  const extra = closed ? [NoSchemaIntrospectionCustomRule] : [];
  const rules = [...specifiedRules, ...extra];
  // "Did you mean" would tell the schema one name at a time.
  const options = { maxErrors: 20, hideSuggestions: closed };
  await app.register(mercurius, {
    schema,
    resolvers: makeResolvers(settings.GRAPHQL_MAX_LIST),
    routes: false,
    cache: keptDocuments,
    jit: runsBeforeCompiling,
    validationRules: extra,
    graphql: { validateOptions: options },
    // Its own one logs the mistakes of callers and sets the status; ours are in errors.ts and http.ts.
    errorFormatter: response => ({ statusCode: 200, response }),
  });

  /** Runs an operation in the context of its caller. What is not even valid is refused as a whole. */
  async function run(
    context: Context,
    operation: Operation,
    variables: Variables,
    isOver: () => boolean,
  ): Promise<Ran> {
    const allowance = new Allowance(mostRecords);
    const loaders = makeLoaders(context, allowance);
    const visit: Visit = { context, allowance, loaders, notices: [], isOver };
    const { document, definition } = operation;
    const name = definition.name?.value;
    const attributes = {
      'graphql.operation.type': definition.operation,
      'graphql.operation.name': name ?? '',
    };
    const result = await inChildSpan(`graphql ${definition.operation}`, { attributes }, () =>
      app.graphql(document, { ...visit }, variables, name),
    ).catch((error: MercuriusError) => {
      if (error.code === 'MER_ERR_GQL_VALIDATION') return undefined;
      throw error;
    });
    if (result?.data === undefined) throw refusalOf(operation, variables);
    // Fields end in the order in which the database answers; the same query shall give the same text.
    const notices = visit.notices.toSorted((a, b) => (String(a.path) < String(b.path) ? -1 : 1));
    return { data: result.data, errors: [...(result.errors ?? []), ...notices], read: allowance.read };
  }

  /** Nothing ran: the document is not valid, or else its variables. Mercurius says both in the same way. */
  function refusalOf(operation: Operation, variables: Variables): DocumentError {
    const { document, definition } = operation;
    operation.faults ??= withCode('GRAPHQL_VALIDATION_FAILED', validate(schema, document, rules, options));
    if (operation.faults.length > 0) return new DocumentError(operation.faults);
    const { variableDefinitions = [] } = definition;
    const { errors = [] } = getVariableValues(schema, variableDefinitions, variables, options);
    return new DocumentError(withCode('BAD_USER_INPUT', errors));
  }
  return { schema, run };
}
