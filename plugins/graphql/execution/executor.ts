import { fastify } from 'fastify';
import {
  type ExecutionResult,
  execute,
  type FieldNode,
  type GraphQLError,
  type GraphQLField,
  getArgumentValues,
  getVariableValues,
  NoSchemaIntrospectionCustomRule,
  specifiedRules,
  validate,
} from 'graphql';
import mercurius, { type MercuriusError } from 'mercurius';
import { openChanges } from '#plugins/graphql/changes.ts';
import type { Operation } from '#plugins/graphql/documents/reader.ts';
import { DocumentError, withCode } from '#plugins/graphql/errors.ts';
import { maximumsOf } from '#plugins/graphql/limits/queryLimits.ts';
import {
  makeResolvers,
  makeSchema,
  type OperationContext,
  type SchemaPart,
} from '#plugins/graphql/schema.ts';
import type { Settings } from '#schemas/settings.ts';
import type { Feed } from '#src/changes/feed.ts';
import type { Follower } from '#src/changes/follow.ts';
import { explain } from '#src/database/databaseErrors.ts';
import { inChildSpan } from '#src/telemetry/tracing.ts';
import { refusalsIn } from './http.ts';
import { openInside, type Run } from './inside.ts';

type Variables = Record<string, unknown>;

/** Runs Mercurius in an application of its own: the one that serves requests is ready, and accepts no more plugins. */
export async function openExecutor(settings: Settings, parts: SchemaPart[], feed: Feed) {
  const app = fastify();
  const schema = makeSchema(parts);
  const isClosed = settings.GRAPHQL_INTROSPECTION === 'off';
  const rules = isClosed ? [NoSchemaIntrospectionCustomRule] : [];
  // "Did you mean" would reveal the schema one name at a time.
  const options = { maxErrors: 20, hideSuggestions: isClosed };
  const { list: maxList } = maximumsOf(settings);
  await app.register(mercurius, {
    schema,
    resolvers: makeResolvers(parts),
    routes: false,
    // `jit` must stay off: it writes text of clients into the source of functions (docs/decisions/08-graphql.md).
    // The cache keeps up to twice this number of valid documents, and as many invalid ones.
    cache: 64,
    validationRules: rules,
    graphql: { validateOptions: options },
    // The default formatter logs the mistakes of callers and sets the status.
    errorFormatter: response => ({ statusCode: 200, response }),
  });
  await app.ready();

  /** Runs an operation, or makes a result of a subscription, and turns the outcome into what is sent. */
  async function runWith<T>(how: Run<T>, work: (inside: OperationContext) => Promise<ExecutionResult>) {
    const { context, toSent } = how;
    const { budget } = context;
    const { inside, warnings, ended } = openInside(how, maxList);
    const { data, errors = [] } = await Promise.race([work(inside), ended]);
    // Sorts the warnings, because fields end in the order in which the database answers.
    warnings.sort((a, b) => (String(a.path) < String(b.path) ? -1 : 1));
    const outcome = { data, errors: [...new Set([...errors, ...warnings])] };
    await budget.ownTurn(context);
    try {
      budget.measure(data);
      const sent = toSent(outcome);
      if (typeof sent === 'string') budget.measureText(sent);
      // Without the data: promises of a request that waited long would keep it until the whole heap is collected.
      const hasNull = !data || Object.values(data).includes(null);
      return { errors: outcome.errors, hasNull, sent };
    } catch (error) {
      throw new DocumentError(refusalsIn(error));
    }
  }

  /** Refuses an invalid document and invalid variables; returns the variables with their defaults. */
  function validateAndDefault(operation: Operation, variables: Variables): Variables {
    const { document, definition } = operation;
    operation.validationErrors ??= validate(schema, document, [...specifiedRules, ...rules], options);
    if (operation.validationErrors.length > 0)
      throw new DocumentError(withCode('GRAPHQL_VALIDATION_FAILED', operation.validationErrors));
    const values = getVariableValues(schema, definition.variableDefinitions ?? [], variables, options);
    if (values.errors) throw new DocumentError(withCode('BAD_USER_INPUT', values.errors));
    return values.coerced;
  }

  const run = <T>(operation: Operation, variables: Variables, how: Run<T>) => {
    const { name, operation: kind } = operation.definition;
    const attributes = { 'graphql.operation.type': kind, 'graphql.operation.name': name?.value ?? '' };
    const work = async (inside: OperationContext) => {
      try {
        return await app.graphql(operation.document, { ...inside }, variables, name?.value);
      } catch (error) {
        // Mercurius has one error for wrong documents and wrong variables. This throws the precise one.
        if ((error as MercuriusError).code === 'MER_ERR_GQL_VALIDATION')
          validateAndDefault(operation, variables);
        throw error;
      }
    };
    return inChildSpan(`graphql ${kind}`, { attributes }, () => runWith(how, work));
  };

  /**
   * Yields a function for each change, which makes its result, and `undefined` at times while there are no changes.
   * Mercurius has subscriptions too, but its publisher forgets what a client missed.
   */
  async function* subscribe(operation: Operation, variables: Variables, follower: Follower) {
    const { document, definition } = operation;
    const values = validateAndDefault(operation, variables);
    // `makeReader` returns a function that refuses any other selection.
    const [node] = definition.selectionSet.selections as readonly [FieldNode];
    const name = node.name.value;
    const field = schema.getSubscriptionType()?.getFields()[name] as GraphQLField<unknown, unknown>;
    const args = { schema, document, variableValues: variables, operationName: definition.name?.value };
    for await (const change of openChanges(feed, name, getArgumentValues(field, node, values), follower)) {
      const executeIn = async (contextValue: OperationContext) => {
        const { errors = [], ...result } = await execute({
          ...args,
          rootValue: { [name]: change },
          contextValue,
        });
        return { ...result, errors: errors.filter(error => !isParentGone(error)) };
      };
      yield change && (<T>(how: Run<T>) => runWith(how, executeIn));
    }
  }
  return { schema, run, subscribe };
}

/**
 * Whether the parent of a changed record was not found: both were deleted after the record was read. The record is then
 * null in the result, as for everybody who reads it now.
 */
const isParentGone = ({ path, originalError }: GraphQLError) =>
  path?.length === 3 && explain(originalError).code === 'not_found';
