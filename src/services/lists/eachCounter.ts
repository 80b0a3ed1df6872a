import { and, sql } from '../../../drizzle/orm.ts';
import { need } from '../../access/need.ts';
import type { Context } from '../../core/context.ts';
import { owner, owners } from '../../database/statements/cursorQuery.ts';
import { builder, statement } from '../../database/statements/statement.ts';
import { conditionsOf, inPeriod, type ListQuery, type ListRules, namesIn, periodOf } from './rules.ts';

export type CountEach<Query> = (
  context: Context,
  owners: string[],
  query: Query,
) => Promise<Map<string, number>>;

/** A function that counts the records for each of several values of a filter. */
export function eachCounter<Filter extends string, Sort extends string>(
  rules: ListRules<Filter, Sort>,
  filter: Filter,
): CountEach<ListQuery<Filter, Sort>> {
  const { scope, table } = rules;
  const names = Object.keys(rules.filters) as Filter[];
  const valueFor = (name: string) => (name === filter ? owner : sql.placeholder(name));
  const build = (query: ListQuery<Filter, Sort>) => {
    const used = names.filter(name => name === filter || query[name] !== undefined);
    const where = and(inPeriod(table, query), ...conditionsOf(rules, used, valueFor));
    const total = sql<number>`${builder.$count(table, where)}::int`;
    return statement({ owner, total }, (builder, columns) => builder.select(columns).from(owners));
  };
  const statements = new Map<string, ReturnType<typeof build>>();
  return async (context, ids, query) => {
    need(context, scope);
    const key = namesIn([...names, 'createdSince', 'createdBefore'] as (keyof typeof query)[], query).join();
    const count = statements.get(key) ?? build(query);
    statements.set(key, count);
    const rows = await count(context.db, { ...query, ...periodOf(query), owners: ids.join() });
    return new Map(rows.map(({ owner, total }) => [owner, total]));
  };
}
