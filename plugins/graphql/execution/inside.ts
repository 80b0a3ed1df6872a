import {
  type ExecutionResult,
  type FieldNode,
  type GraphQLError,
  type GraphQLResolveInfo,
  locatedError,
  OperationTypeNode,
  responsePathAsArray,
} from 'graphql';
import type { Estimate } from '#plugins/graphql/documents/reader.ts';
import { truncationWarning } from '#plugins/graphql/errors.ts';
import type { OperationContext } from '#plugins/graphql/schema.ts';
import type { Context } from '#src/access/context.ts';
import type { Budget } from '#src/access/limits/budget.ts';
import { keptIn } from '#src/core/kept.ts';
import type { Outcome } from './http.ts';

/** How an operation runs. */
export interface Run<T> {
  context: Context & { budget: Budget };
  estimate: Estimate;
  below?: OperationContext['below'];
  toSent: (outcome: Outcome) => T;
}

/** What the resolvers of an operation share, their warnings, and the result of a query that its budget ends early. */
export function openInside({ context, estimate, below }: Run<unknown>, maxList: number) {
  const { budget } = context;
  const warnings: GraphQLError[] = [];
  const values = new Map<readonly FieldNode[], number>();
  const failed = new Map<unknown, Map<unknown, GraphQLError>>();
  const { promise: ended, resolve: end } = Promise.withResolvers<ExecutionResult>();
  const inside: OperationContext = {
    context,
    budget,
    valuesOf: ({ path, fieldNodes }) =>
      keptIn(values, fieldNodes, () => estimate.leaves.get(fieldPath(path))?.size || 1),
    maxList,
    perField: new Map(),
    fail: async (thrown, { fieldNodes, path, operation }) => {
      const error = budget.refusal ?? thrown;
      // Makes one error for all parents of a field: tens of thousands of errors would take long.
      const known = keptIn(
        keptIn(failed, error, () => new Map<unknown, GraphQLError>()),
        fieldNodes,
        () => locatedError(error, fieldNodes, responsePathAsArray(path)),
      );
      if (!budget.refusal || operation.operation !== OperationTypeNode.QUERY) throw known;
      end({ data: null, errors: [known] });
      return new Promise(() => {});
    },
    warnOfTruncation: info => void warnings.push(truncationWarning(maxList, info)),
    below,
  };
  return { inside, warnings, ended };
}

type Path = GraphQLResolveInfo['path'];
/** The path of a field without the indexes of lists, as `checkQueryLimits` writes it. */
function fieldPath({ key, prev }: Path): string {
  if (!prev) return String(key);
  return typeof key === 'number' ? fieldPath(prev) : `${fieldPath(prev)},${key}`;
}
