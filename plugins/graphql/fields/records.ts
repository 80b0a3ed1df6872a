import type { AnyResource } from '../../../src/services/resource.ts';
import type { OperationContext, Part } from '../part.ts';
import { toType } from './sdl.ts';

type ById = { id: string };

/** The type of a record, and the field that reads one. */
export const recordFields = (resource: AnyResource): Part => ({
  sdl: [
    ...toType(resource.contract.record),
    /* GraphQL */ `
extend type Query {
  "One ${resource.noun}, or null."
  ${resource.name}(id: ID!): ${resource.title}
}`,
  ],
  Query: { [resource.name]: (_, { id }: ById, operation) => loadRecord(resource, id, operation) },
});

/** A record, or undefined, in one call of the service with the other ids of the turn. */
export const loadRecord = (resource: AnyResource, id: string, { context, load }: OperationContext) =>
  load<unknown>(resource, [], id, ids => resource.ofIds(context, ids));
