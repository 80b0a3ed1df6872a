import { auditQuery } from '../../schemas/audit.ts';
import { changeActions, changesQuery } from '../../schemas/change.ts';
import { readOnly } from '../../schemas/common.ts';
import { listParameters } from '../../schemas/lists.ts';
import { OperatorError } from '../core/errors.ts';
import type { Followed } from './changes/followed.ts';
import type { Contract } from './resource.ts';

type Named = Pick<Followed, 'name' | 'parents' | 'counted' | 'contract'> & { plural: string; path: string };

/** Refuses names that mean something else in the same place: one would silently take the place of the other. */
export function refuseTakenNames(resource: Named, change: string[], links: string[]): void {
  const { name, plural, parents, counted, contract } = resource;
  const { create, filters = [] }: Partial<Contract> = contract;
  const members = Object.keys(create?.properties ?? {});
  const actions = create ? changeActions.map(action => `${name}.${action}`) : [];
  const chosen = [...Object.keys(parents), ...counted];
  const parameters = Object.keys(changesQuery([]).properties);
  // Only GraphQL has `first`, `last` and `cursor`.
  const inLists = [...Object.keys(listParameters([])), 'first', 'last'];
  const rules: [what: string, names: string[], taken: string[], meaning: string][] = [
    ['a resource', [name], [...change, 'cursor'], 'a member of every change'],
    [`the list of '${name}'`, [plural], links, 'a link of GET /'],
    [`an action of '${name}'`, actions, auditQuery([]).properties.action.enum, 'another in the audit log'],
    [`a member of '${name}'`, members, Object.keys(readOnly), 'a member of every record'],
    [`a filter of '${name}'`, filters, inLists, 'a parameter of every list'],
    [`a relation or filter of '${name}'`, chosen, parameters, 'a parameter of GET /api/changes'],
  ];
  for (const [what, names, taken, meaning] of rules) {
    const found = names.find(each => taken.includes(each));
    if (found) throw new OperatorError(`'${found}' cannot be the name of ${what}: it is ${meaning}.`);
  }
}

/** Refuses a resource whose path is a path of the service, too. */
export function refuseTakenPath(resources: Named[], url: string): void {
  const found = resources.find(({ path }) => `${url}/`.startsWith(`/api/${path}/`));
  if (found)
    throw new OperatorError(`'${found.name}' cannot be the name of a resource: its path is that of ${url}.`);
}
