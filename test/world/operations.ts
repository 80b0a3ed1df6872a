import { removalOf } from '#src/records/deletions.ts';
import { creationOf, updatesOf } from '#src/records/records.ts';
import type { Contract, Resource, ResourceTable } from '#src/records/resource.ts';

/** Gives a resource the operations that `npm run new` gives it. */
export const operationsOf = <C extends Contract, T extends ResourceTable>(resource: Resource<C, T>) => ({
  resource,
  create: creationOf(resource),
  ...updatesOf(resource),
  remove: removalOf(resource),
});
