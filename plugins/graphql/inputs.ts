import type { Static, TSchema } from '@sinclair/typebox';
import { paging, ref, strict } from '../../schemas/common.ts';
import { PostCreate, PostQuery, PostReplace, PostUpdate } from '../../schemas/post.ts';
import { SubscriptionQuery } from '../../schemas/subscription.ts';
import { UserCreate, UserQuery, UserReplace, UserUpdate } from '../../schemas/user.ts';
import { invalid } from '../../src/core/errors.ts';
import { compileCheck } from '../../src/core/validation.ts';
import { sortOf } from './sdl.ts';

/** What GraphQL's types let through is held against the schemas of REST: the same rules, the same words. */
function checkedBy<T extends TSchema>(schema: T, part: 'body' | 'query') {
  const check = compileCheck(schema, part);
  return (given: object): Static<T> => {
    const violations = check(given);
    if (violations) throw invalid(violations);
    return given;
  };
}

export const inputs = {
  userCreate: checkedBy(ref(UserCreate), 'body'),
  userReplace: checkedBy(ref(UserReplace), 'body'),
  userUpdate: checkedBy(ref(UserUpdate), 'body'),
  postCreate: checkedBy(ref(PostCreate), 'body'),
  postReplace: checkedBy(ref(PostReplace), 'body'),
  postUpdate: checkedBy(ref(PostUpdate), 'body'),
};
export const userQuery = listQuery(checkedBy(UserQuery, 'query'));
export const postQuery = listQuery(checkedBy(PostQuery, 'query'));
export const subscriptionQuery = listQuery(checkedBy(SubscriptionQuery, 'query'));
export const slice = listQuery(checkedBy(strict(paging), 'query'));

export type Arguments = Record<string, unknown>;

/** The arguments of a list as the query of its REST list, and whether they ask for a page or for everything. */
function listQuery<T>(check: (given: object) => T) {
  return (given: Arguments): { query: T; paged: boolean } => {
    const named = Object.entries(given).filter(([, value]) => value !== null && value !== undefined);
    const { sort, ...rest } = Object.fromEntries(named);
    // Asked before the check, which fills in the defaults of a page.
    const paged = 'page' in rest || 'limit' in rest;
    return { query: check(typeof sort === 'string' ? { ...rest, sort: sortOf(sort) } : rest), paged };
  };
}
