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
  const versioned = { versioned: true, record: name } as const;
  const found = { config: versioned, params, response: { 200: ref(record) } };
  const changed = (conflicts: Conflict[]) => ({
    ...found,
    config: { ...versioned, conflicts: [...conflicts, stale] },
  });
  return {
    list: <Q extends TSchema, L extends TSchema>(querystring: Q, list: L) =>
      route(`list${Many}`, `List ${plural}`, 'read', {
        description: `A page of ${plural}, the oldest first unless \`sort\` says otherwise. Filters compare for equality, and several of them all apply.`,
        querystring,
        response: { 200: ref(list) },
      }),
    create: <B extends TSchema>(body: B, conflicts: Conflict[] = []) =>
      route(`create${One}`, `Create ${one}`, 'write', {
        config: { ...versioned, conflicts, idempotencyKey: 'accepted' },
        description: `Answers with the new ${name}, and with its path in \`Location\`. With an \`Idempotency-Key\` the request can be repeated until there is an answer.`,
        body: ref(body),
        response: { 201: ref(record) },
      }),
    get: () =>
      route(`get${One}`, `Get ${one}`, 'read', {
        ...found,
        description: `The \`ETag\` is its version. A change that sends it back as \`If-Match\` overwrites nobody else's.`,
      }),
    replace: <B extends TSchema>(body: B, conflicts: Conflict[] = []) =>
      route(`replace${One}`, `Replace ${one} completely`, 'write', {
        ...changed(conflicts),
        description: `Members that are absent get their defaults. The body may be what \`GET\` returned: if the ${name} was changed since, the answer is a 409.`,
        body: ref(body),
      }),
    update: <B extends TSchema>(body: B, conflicts: Conflict[] = []) =>
      route(`update${One}`, `Update ${one} partially`, 'write', {
        ...changed(conflicts),
        description: `Members that are absent stay as they are (RFC 7396). A change to the same values changes nothing, not even \`version\`.`,
        consumes: mergePatch,
        body: ref(body),
      }),
    remove: () =>
      route(`delete${One}`, `Delete ${one}`, 'write', {
        config: { ...versioned, conflicts: conflictsOfRemoval(kind) },
        description: `A ${name} on which other records depend is deleted with them or not at all: \`cascade\`.`,
        params,
        querystring: Removal,
        response: { 204: deleted },
      }),
  };
}
