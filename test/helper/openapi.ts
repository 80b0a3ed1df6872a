export type Operation = Record<string, unknown> & {
  responses: Record<string, { $ref?: string; content?: Record<string, { example?: object }> }>;
};

/** The operations of an OpenAPI document. */
export const operationsIn = (document: { paths: object }) =>
  Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  );
