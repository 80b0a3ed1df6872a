import { getTableConfig, type PgTable, pgTable } from '#drizzle/orm.ts';
import { auditQuery } from '#schemas/service/audit.ts';
import { changeActions, changesQuery } from '#schemas/service/change.ts';
import { OperatorError } from '#src/core/errors.ts';
import type { AnyResource, Contract } from './resource.ts';

interface Named extends Pick<AnyResource, 'name' | 'title' | 'plural' | 'path' | 'parents' | 'counted'> {
  contract: Partial<Contract>;
  table?: PgTable;
}

const scalars = ['Int', 'Float', 'String', 'Boolean', 'ID'];
const plainTable = pgTable('plain', {});
/** PostgreSQL cuts a name of more characters without an error. */
const longestName = 63;

/** Refuses names that already mean something else in the same place: one would silently replace the other. */
export function refuseTakenNames(resource: Named, change: string[], links: string[]): void {
  const { name, title, plural, parents, counted, contract, table } = resource;
  const members = Object.keys(contract.create?.properties ?? {});
  const mapped = [...members, ...Object.keys(parents)];
  const inTables = mapped.filter(each => each in plainTable);
  const actions = contract.create ? changeActions.map(action => `${name}.${action}`) : [];
  const chosen = [...Object.keys(parents), ...counted];
  const parameters = Object.keys(changesQuery([]).properties);
  const rules: [what: string, names: string[], taken: string[], meaning: string][] = [
    ['a resource', [name], [...change, 'cursor'], 'a member of every change'],
    [`the list of '${name}'`, [plural], links, 'a link of GET /'],
    [`an action of '${name}'`, actions, auditQuery([]).properties.action.enum, 'another in the audit log'],
    [`the type of '${name}'`, [title], scalars, 'one of GraphQL'],
    [`a member of '${name}'`, mapped, inTables, 'a property of every table'],
    [`a relation or filter of '${name}'`, chosen, parameters, 'a parameter of GET /api/changes'],
  ];
  for (const [what, names, taken, meaning] of rules) {
    const found = names.find(each => taken.includes(each));
    if (found) throw new OperatorError(`'${found}' cannot be the name of ${what}: it is ${meaning}.`);
  }
  // Nothing would recognize a constraint whose name was cut, and its refusal would be a 500.
  const long = table && namesOf(table).find(each => each.length > longestName);
  if (long)
    throw new OperatorError(
      `'${long}' has more than ${longestName} characters: rename '${name}' or a member.`,
    );
}

/** The names of a table, its columns, its indexes and its constraints. */
function namesOf(table: PgTable): string[] {
  const { name, columns, indexes, foreignKeys, checks } = getTableConfig(table);
  const named = [...columns, ...indexes.map(({ config }) => config), ...checks];
  return [name, ...named.map(({ name = '' }) => name), ...foreignKeys.map(key => key.getName())];
}

/** Refuses a resource whose path a route of the service already has. */
export function refuseTakenPath(resources: Named[], url: string): void {
  const found = resources.find(({ path }) => `${url}/`.startsWith(`/api/${path}/`));
  if (found)
    throw new OperatorError(`'${found.name}' cannot be the name of a resource: its path is that of ${url}.`);
}

/** Refuses two things with the same name: clients would see only one of them. */
export function refuseSameNames(what: string, names: string[], mend: string): void {
  const found = names.find((name, i) => names.indexOf(name) < i);
  if (found) throw new OperatorError(`Two ${what} have the name '${found}': rename a ${mend}.`);
}
