import type { OpenAPIV3_1 } from 'openapi-types';

/** An operation of the document, to which this folder adds what all operations have. */
export type Operation = Omit<OpenAPIV3_1.OperationObject, 'responses'> & {
  responses: Record<string, object>;
  'x-codeSamples'?: object[];
};
