import { type FastifyInstance, fastify } from 'fastify';
import {
  createSourceEventStream,
  type ExecutionResult,
  execute as executeOnce,
  type GraphQLError,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getVariableValues,
  NoSchemaIntrospectionCustomRule,
  specifiedRules,
  validate,
} from 'graphql';
import mercurius, { type MercuriusError } from 'mercurius';
import type { Settings } from '../../../schemas/settings.ts';
import type { Context } from '../../../src/core/context.ts';
import { inChildSpan } from '../../../src/telemetry/tracing.ts';
import type { Operation } from '../documents/reader.ts';
import { DocumentError, truncated, withCode } from '../errors.ts';
import { maximumsOf } from '../limits/maximums.ts';
import { RecordBudget } from '../limits/recordBudget.ts';
import { makeResolvers, makeSchema, type SchemaPart } from '../schema.ts';
import { makeLoad, type OperationContext } from './operation.ts';

type Variables = Record<string, unknown>;

const maxRecords = 50_000;

/** Where the changes of a subscription come from, and what each is read with. */
interface Source {
  open: (field: string, args: Variables) => AsyncIterable<object[]>;
  context: () => Context;
}

/** Mercurius in an application of its own without routes: because the service's accepts no plugin once it is ready. */
export async function openExecutor(settings: Settings, parts: SchemaPart[]) {
  const app = fastify();
  const schema = makeSchema(parts);
  const validation = validationOf(settings);
  const { list: maxList } = maximumsOf(settings);
  await app.register(mercurius, {
    schema,
    resolvers: makeResolvers(parts),
    routes: false,
    // Never set `jit`: it writes text of clients into the source of functions (docs/decisions/08-graphql.md).
    // Validated documents; it keeps up to twice as many, and as many that are not valid.
    cache: 64,
    validationRules: validation.rules,
    graphql: { validateOptions: validation.options },
    // The default one logs the mistakes of callers and sets the status.
    errorFormatter: response => ({ statusCode: 200, response }),
  });
  await app.ready();

  /** Runs an operation, or makes one result of a subscription, with limits of its own. */
  async function runWith(context: Context, work: (inside: OperationContext) => Promise<ExecutionResult>) {
    const budget = new RecordBudget(maxRecords);
    const warnings: GraphQLError[] = [];
    const warnOfTruncation = (info: GraphQLResolveInfo) => void warnings.push(truncated(maxList, info));
    const { data, errors = [] } = await work({
      context,
      load: makeLoad(),
      budget,
      maxList,
      warnOfTruncation,
    });
    // In a fixed order, because fields end in the order in which the database answers.
    warnings.sort((a, b) => (String(a.path) < String(b.path) ? -1 : 1));
    return { data, errors: [...errors, ...warnings], records: budget.spent };
  }

  const run = (context: Context, operation: Operation, variables: Variables) =>
    runWith(context, async inside => {
      const result = await execute(app, operation, variables, inside);
      if (result?.data === undefined) throw refusalOf(schema, validation, operation, variables);
      return result;
    });

  /**
   * The results of a subscription: one for each change, and nothing at times when there is none. Mercurius has
   * subscriptions too, on a publisher that forgets what a client missed.
   */
  async function* subscribe(operation: Operation, variables: Variables, source: Source) {
    const { document, definition } = operation;
    const refusal = refusalOf(schema, validation, operation, variables);
    if (refusal.errors.length > 0) throw refusal;
    const args = { schema, document, variableValues: variables, operationName: definition.name?.value };
    let field = '';
    const opened = await createSourceEventStream({
      ...args,
      subscribeFieldResolver: (_root, values, _context, { fieldName }) => {
        field = fieldName;
        return source.open(fieldName, values);
      },
    });
    if ('errors' in opened) throw opened.errors?.[0]?.originalError ?? opened.errors?.[0];
    for await (const changes of opened as AsyncIterable<object[]>) {
      if (changes.length === 0) yield undefined;
      for (const change of changes)
        yield await runWith(source.context(), async contextValue =>
          executeOnce({ ...args, rootValue: { [field]: change }, contextValue }),
        );
    }
  }
  return { schema, run, subscribe };
}

function validationOf({ GRAPHQL_INTROSPECTION }: Settings) {
  const isClosed = GRAPHQL_INTROSPECTION === 'off';
  return {
    rules: isClosed ? [NoSchemaIntrospectionCustomRule] : [],
    // "Did you mean" would reveal the schema one name at a time.
    options: { maxErrors: 20, hideSuggestions: isClosed },
  };
}

/** Tells an invalid document from invalid variables, for which Mercurius has one error. */
function refusalOf(
  schema: GraphQLSchema,
  { rules, options }: ReturnType<typeof validationOf>,
  operation: Operation,
  variables: Variables,
): DocumentError {
  const { document, definition } = operation;
  operation.validationErrors ??= validate(schema, document, [...specifiedRules, ...rules], options);
  if (operation.validationErrors.length > 0)
    return new DocumentError(withCode('GRAPHQL_VALIDATION_FAILED', operation.validationErrors));
  const { errors = [] } = getVariableValues(schema, definition.variableDefinitions ?? [], variables, options);
  return new DocumentError(withCode('BAD_USER_INPUT', errors));
}

/** The result, or undefined if the document or the variables are not valid. */
async function execute(
  app: FastifyInstance,
  { document, definition: { name, operation: kind } }: Operation,
  variables: Variables,
  context: OperationContext,
): Promise<ExecutionResult | undefined> {
  const attributes = { 'graphql.operation.type': kind, 'graphql.operation.name': name?.value ?? '' };
  try {
    return await inChildSpan(`graphql ${kind}`, { attributes }, () =>
      app.graphql(document, { ...context }, variables, name?.value),
    );
  } catch (error) {
    if ((error as MercuriusError).code === 'MER_ERR_GQL_VALIDATION') return undefined;
    throw error;
  }
}
