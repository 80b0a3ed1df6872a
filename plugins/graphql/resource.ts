import { relationsOf } from '../../src/services/relations.ts';
import type { Operations } from '../../src/services/resource.ts';
import { listFields } from './fields/lists.ts';
import { mutationFields } from './fields/mutations.ts';
import { recordFields } from './fields/records.ts';
import { relationFields } from './fields/relations.ts';
import type { Part } from './part.ts';

/** A resource over GraphQL: its type, the queries, both directions of each relation, and the operations that it has. */
export const resourceFields = (operations: Operations): Part[] => [
  recordFields(operations.resource),
  listFields(operations.resource),
  ...relationsOf(operations.resource).flatMap(relationFields),
  ...mutationFields(operations),
];
