/** Every 409 by its `details.code`: what it means, and an example of its message and details. */
export const conflicts = {
  email_taken: {
    summary: 'Another user has this e-mail address',
    message: 'A user with this e-mail address already exists.',
    details: { path: '/email' },
  },
  stale: {
    summary: 'The record was changed since the client read it',
    message: 'The record was changed since you read it. Read it again.',
    details: { updatedAt: '2026-11-21T09:30:00.000Z' },
  },
  user_has_posts: {
    summary: 'The user has posts, and `cascade` is not true',
    message: 'The user still has posts. Delete them first, or with `?cascade=true`.',
    details: { posts: 3 },
  },
  too_many_posts: {
    summary: 'The user has more than 10,000 posts',
    message:
      'The user has 12345 posts, and at most 10000 are deleted with a user. Delete some of them first.',
    details: { posts: 12_345, maximum: 10_000 },
  },
  several_providers: {
    summary: 'The customer has subscriptions from several providers',
    message: 'The customer has several subscriptions. Name one with `?provider=`.',
    details: { providers: ['stripe', 'paddle'] },
  },
  not_replayable: {
    summary: 'The event is not in a state that can be replayed',
    message: 'The event is processed; replayable are: failed, dead, ignored.',
    details: { status: 'processed' },
  },
};
export type Conflict = keyof typeof conflicts;
