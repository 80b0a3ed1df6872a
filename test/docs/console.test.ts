// runs: on embedded
import t from 'tap';
import { makeKey } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { burrow } from '#test/world/burrows.ts';
import { whisper } from '#test/world/whispers.ts';

const { call, make, newUser, database } = await build(t, { settings: { AUTH_MODE: 'open' } });
const guarded = await build(t, { settings: { AUTH_MODE: 'required' }, database });

interface List {
  path: string;
  query: Record<string, unknown>;
  members: Record<string, { description?: string }>;
  create: Record<string, unknown> | null;
  isOpened: boolean;
  isChanged: boolean;
  isRemoved: boolean;
  children: { path: string; name: string }[];
  actions: { path: string }[];
}
const documentFor = async (scopes: string[], userId?: string) => {
  const { key } = await makeKey(database, scopes as ['read'], userId ? { userId } : {});
  const headers = { authorization: `Bearer ${key}` };
  const { body } = await guarded.call('GET', '/console/document', 200, { headers });
  const lists = new Map((body.lists as List[]).map(list => [list.path, list]));
  return { body, lists, headers };
};
const logs = ['webhook-events', 'keys', 'audit'];

t.test('the console learns every list, with what is there to read', async t => {
  const { body } = await call('GET', '/console/document', 200);
  const lists = body.lists as List[];
  const paths = lists.map(({ path }) => path);
  t.strictSame(paths.slice(-4), ['webhook-events', 'subscriptions', 'keys', 'audit']);
  for (const { path, query, children, members } of lists) {
    await call('GET', `/api/${path}?limit=1`, 200);
    t.ok(Object.keys(members).length > 3 && 'limit' in query, path);
    for (const child of children) t.ok(lists.find(each => each.path === child.path)?.query[child.name], path);
  }
  t.match(body.caller, { kind: 'anyone', scopes: ['read', 'write', 'admin'] });
  const specimens = lists.find(({ path }) => path === 'specimens');
  t.match(specimens, {
    title: 'label',
    isChanged: true,
    isRemoved: true,
    parents: [{ member: 'burrowId', path: 'burrows' }],
  });
  t.notMatch(JSON.stringify(specimens?.create), 'when absent', 'the words are those of the record');
  const events = lists.find(({ path }) => path === 'webhook-events');
  t.match(
    events?.actions.map(({ path }) => path),
    ['/api/webhook-events/{id}/replay'],
  );
});

t.test('a caller is told what they may do, and nothing of what they may not', async t => {
  await guarded.call('GET', '/console/document', 401);
  const read = await documentFor(['read']);
  for (const { path, create, isChanged, isRemoved, actions } of read.lists.values())
    t.strictSame([create, isChanged, isRemoved, actions], [null, false, false, []], path);
  t.notOk(logs.some(path => read.lists.has(path)));
  t.ok(read.lists.has('subscriptions'));

  const write = await documentFor(['write']);
  t.match(write.lists.get('specimens'), { create: Object, isChanged: true, isRemoved: true });
  t.notOk(logs.some(path => write.lists.has(path)));

  const { id } = await newUser();
  const own = await documentFor(['own'], id);
  t.match(own.body.caller, { kind: 'key', scopes: ['own'], person: id });
  t.match(own.lists.get('tendings'), { create: Object, isChanged: true, owner: 'userId' });
  t.match(own.lists.get('burrows'), { create: null, isChanged: false });
  t.notOk([...logs, 'subscriptions'].some(path => own.lists.has(path)));

  const admin = await documentFor(['admin']);
  t.match(admin.lists.get('keys'), { create: Object, isRemoved: true, isOpened: true });
  t.ok(logs.every(path => admin.lists.has(path)));
});

t.test('the names of parents are one request, and only those that the caller may read', async t => {
  const den = await make(burrow, { label: 'Under the oak' });
  const person = await newUser();
  const secret = await make(whisper, {});
  const ids = [den.id, 'nonsense', '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90'].join();
  const { body } = await call('GET', `/console/names/burrows?ids=${ids}`, 200);
  t.strictSame(body, { [den.id]: 'Under the oak' });
  const { headers } = await documentFor(['own'], person.id);
  const hidden = await guarded.call('GET', `/console/names/whispers?ids=${secret.id}`, 200, { headers });
  t.strictSame(hidden.body, {}, 'a private record of somebody else');
  t.strictSame(Object.keys((await call('GET', `/console/names/whispers?ids=${secret.id}`, 200)).body), [
    secret.id,
  ]);
  await guarded.call('GET', `/console/names/burrows?ids=${den.id}`, 401);
  await call('GET', '/console/names/keys?ids=1', 404);
  await call('GET', `/console/names/burrows?ids=${'1'.repeat(3701)}`, 400);
});
