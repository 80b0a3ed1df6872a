import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { coalesce } from '../../../src/database/concurrency/coalesce.ts';
import { createUser, listUsers } from '../../../src/services/users.ts';
import { inside } from '../../helper/access.ts';
import { noDatabase, openTestDatabase } from '../../helper/database.ts';
import { outcome } from '../../helper/servers/fakeServer.ts';

t.test('equal requests share one answer, and other requests do not wait for them', async t => {
  const gates = new Map<string, PromiseWithResolvers<string>>();
  const read: string[] = [];
  const ask = coalesce(async (_db, question: string) => {
    read.push(question);
    const gate = Promise.withResolvers<string>();
    gates.set(question, gate);
    return gate.promise;
  });
  const first = ['a', 'b', 'a'].map(question => ask(noDatabase, question));
  await turn();
  await turn();
  t.same(read, ['a', 'b']);
  const later = ['a', 'a', 'c'].map(question => ask(noDatabase, question));
  await turn();
  await turn();
  t.same(read.slice(2), ['c'], 'no request joins an answer that is under way');
  gates.get('a')?.resolve('old');
  t.equal(await first[0], 'old');
  t.equal(await first[2], 'old');
  await turn();
  await turn();
  t.same(read.slice(3), ['a'], 'the requests that waited share the next one');
  gates.get('a')?.resolve('new');
  gates.get('c')?.resolve('other');
  t.same(await Promise.all(later), ['new', 'new', 'other']);
  gates.get('b')?.resolve('at last');
  t.equal(await first[1], 'at last');
});

// Bug: a list behind a lock held up every equal request that came later, although those could have been answered.
t.test('a slow answer does not hold up the next equal request', async t => {
  const answers: PromiseWithResolvers<string>[] = [];
  const ask = coalesce(async () => {
    const answer = Promise.withResolvers<string>();
    answers.push(answer);
    // Only the first is slow.
    if (answers.length > 1) answer.resolve('new');
    return answer.promise;
  });
  const slow = ask(noDatabase, 'a');
  await turn();
  await turn();
  const later = [ask(noDatabase, 'a'), ask(noDatabase, 'a')];
  t.equal(await outcome(Promise.all(later)), 'done', 'while the slow one is still being read');
  t.equal(answers.length, 2, 'with one answer for both');
  answers[0]?.resolve('old');
  t.same(await Promise.all(later), ['new', 'new']);
  t.equal(await slow, 'old');
  t.equal(await ask(noDatabase, 'a'), 'new', 'and it is forgotten');
});

t.test('a failed answer fails only its own callers', async t => {
  let failing = true;
  const ask = coalesce(async (_db, _question: string) => {
    if (failing) throw new Error('gone');
    return 'answer';
  });
  const results = await Promise.allSettled([ask(noDatabase, 'a'), ask(noDatabase, 'a')]);
  t.same(
    results.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  failing = false;
  t.equal(await ask(noDatabase, 'a'), 'answer');
});

t.test('a list is never older than its request, however many run at once', async t => {
  const context = inside(await openTestDatabase(t));
  const query = { page: 1, limit: 5, sort: 'createdAt' as const };
  for (let round = 1; round <= 20; round++) {
    const early = Array.from({ length: 5 }, () => listUsers(context, query));
    await createUser(context, { name: 'Ada', email: `user${round}@example.com` });
    const late = await Promise.all(Array.from({ length: 5 }, () => listUsers(context, query)));
    t.same(new Set(late.map(page => page.meta.total)), new Set([round]));
    for (const { meta } of await Promise.all(early)) t.ok(meta.total === round || meta.total === round - 1);
  }
});
