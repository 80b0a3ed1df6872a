import t from 'tap';
import { auditLog } from '#drizzle/tables/service/auditLog.ts';
import { build } from '#test/helper/app.ts';
import { countRows } from '#test/helper/database.ts';
import { batch, burrows, digging } from '#test/helper/resources/batches.ts';
import { burrow, burrowTable } from '#test/world/burrows.ts';
import { specimen } from '#test/world/specimens.ts';

const { call, make, newUser, database } = await build(t);
const specimens = '/api/specimens';
const absent = '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90';

/** Writes that their routes refuse, and the members of a batch that does the same. */
async function refusedWrites() {
  const [parent, user] = [await make(burrow), await newUser()];
  const child = await make(specimen, { burrowId: parent.id });
  const [list, parentPath, childPath] = [burrows, `${burrows}/${parent.id}`, `${specimens}/${child.id}`];
  return [
    [404, 'PATCH', `${list}/${absent}`, { label: 'B' }],
    [404, 'DELETE', `${list}/no-id`],
    [404, 'PUT', `${list}/%20`, { label: 'B' }],
    [409, 'POST', '/api/users', { name: 'Grace', email: user.email }],
    [409, 'PATCH', childPath, { bones: 2, version: 7 }],
    [409, 'DELETE', parentPath],
    [412, 'PATCH', childPath, { bones: 2 }, '"7"'],
    [412, 'DELETE', `${parentPath}?cascade=true`, undefined, 'W/"1"'],
    [412, 'PUT', childPath, { label: 'B', burrowId: parent.id }, '"2", "3"'],
    [400, 'POST', specimens, { label: 'A', burrowId: absent }],
    [400, 'PATCH', childPath, { id: absent, bones: 2 }],
    [400, 'PATCH', childPath, { burrowId: user.id }],
  ] as [number, string, string, object?, string?][];
}

t.test('the first refusal undoes all before it, and is the answer of its route', async t => {
  const cases = await refusedWrites();
  const count = async () => [
    await countRows(database.writes, burrowTable),
    await countRows(database.writes, auditLog),
  ];
  const before = await count();
  for (const [status, method, path, body, tag] of cases) {
    const name = `${method} ${path} ${status}`;
    const alone = await call(method, path, status, {
      body,
      headers: tag === undefined ? {} : { 'if-match': tag },
    });
    const operation = { method, path, body, ifMatch: tag };
    const both = await batch(call, status, [
      digging('Undone'),
      digging('Undone', { parentId: '$0' }),
      operation,
      { ...operation, method: 'DELETE', body: undefined, path: `${burrows}/later` },
    ]);
    const { message, details } = alone.body.error;
    const expected = Array.isArray(details)
      ? details.map((each: { path: string }) => ({
          ...each,
          in: 'body',
          path: `/operations/2/body${each.path}`,
        }))
      : { ...details, operation: 2 };
    t.same(both.body.error, { message, status, details: expected }, name);
    t.notOk('etag' in both.headers, name);
  }
  t.same(await count(), before, 'nothing was written');
});
