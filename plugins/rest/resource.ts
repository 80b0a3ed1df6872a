import type { TObject, TSchema, TString } from '@sinclair/typebox';
import { idInPath, ref, strict } from '../../schemas/common.ts';
import { Removal } from '../../schemas/records.ts';
import type { Conflict } from '../../src/core/conflicts.ts';
import { capitalize, withArticle } from '../../src/core/text.ts';
import { conflictsOfRemoval } from '../../src/services/deletions.ts';
import type { Kind, KindTable } from '../../src/services/kinds.ts';
import { stale } from '../../src/services/records.ts';
import { routesOf } from '../http/routes.ts';
import { deleted } from './replies.ts';

const mergePatch = ['application/json', 'application/merge-patch+json'];

/** The options of the six routes of a resource. `conflicts` are the 409s that its own service throws. */
export function resourceRoutes<R extends TObject, N extends string>(record: R, kind: Kind<KindTable, N>) {
  const { name, plural } = kind;
  const one = withArticle(name);
  const [One, Many] = [record.$id ?? '', capitalize(plural)];
  const route = routesOf(Many);
  const params = strict({ [`${name}_id`]: idInPath(name) } as Record<`${N}_id`, TString>);
  const versioned = { versioned: true } as const;
  const found = { config: versioned, params, response: { 200: ref(record) } };
  const changed = (conflicts: Conflict[]) => ({
    ...found,
    config: { ...versioned, conflicts: [...conflicts, stale] },
  });
  return {
    list: <Q extends TSchema, L extends TSchema>(querystring: Q, list: L) =>
      route(`list${Many}`, `List ${plural}`, 'read', { querystring, response: { 200: ref(list) } }),
    create: <B extends TSchema>(body: B, conflicts: Conflict[] = []) =>
      route(`create${One}`, `Create ${one}`, 'write', {
        config: { ...versioned, conflicts, idempotencyKey: 'accepted' },
        body: ref(body),
        response: { 201: ref(record) },
      }),
    get: () => route(`get${One}`, `Get ${one}`, 'read', found),
    replace: <B extends TSchema>(body: B, conflicts: Conflict[] = []) =>
      route(`replace${One}`, `Replace ${one} completely`, 'write', {
        ...changed(conflicts),
        body: ref(body),
      }),
    update: <B extends TSchema>(body: B, conflicts: Conflict[] = []) =>
      route(`update${One}`, `Update ${one} partially`, 'write', {
        ...changed(conflicts),
        consumes: mergePatch,
        body: ref(body),
      }),
    remove: () =>
      route(`delete${One}`, `Delete ${one}`, 'write', {
        config: { ...versioned, conflicts: conflictsOfRemoval(kind) },
        params,
        querystring: Removal,
        response: { 204: deleted },
      }),
  };
}
