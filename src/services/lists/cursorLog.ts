import type { PgColumn, SQL } from '../../../drizzle/orm.ts';
import { need } from '../../access/need.ts';
import type { Context } from '../../core/context.ts';
import { CursorReader } from './cursorReader.ts';
import type { CursorPage } from './pages.ts';
import type { ListQuery, ListRules } from './rules.ts';

type LogQuery<Filter extends string> = Omit<ListQuery<Filter, 'createdAt'>, 'sort' | 'page'>;

/** A function that reads one page of a log: by cursor alone, the newest records first, and never counted. */
export function cursorLog<T, Filter extends string>(
  rules: Omit<ListRules<Filter, never, PgColumn | SQL>, 'sorts'>,
) {
  const reader = new CursorReader<T, Filter, 'createdAt'>({ ...rules, sorts: { createdAt: [] } });
  return async function list(context: Context, query: LogQuery<Filter>): Promise<CursorPage<T>> {
    need(context, rules.scope);
    return reader.page(context.db, { ...query, sort: '-createdAt' } as ListQuery<Filter, 'createdAt'>);
  };
}
