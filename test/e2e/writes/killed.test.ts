import t from 'tap';
import { essence, isReplayed } from '#test/helper/events/replays.ts';
import { ask } from '#test/rig/cluster/ask.ts';
import { closeGate, countBurrows, createBurrow, killBeforeAnswer, startPair } from '#test/rig/pair.ts';
import type { Service } from '#test/rig/process.ts';

const once = { burrows: 1, entries: 1 };

t.test('killed in its transaction: one of the next requests works, and all get its answer', async t => {
  const pair = await startPair(t);
  const [victim, survivor] = pair.servers;
  const gate = await closeGate(t, pair, 'its transaction');
  const lost = createBurrow(victim, 'key-of-many', 'Held').catch((error: Error) => error);
  await gate.reached();
  await victim.kill();
  await gate.open();
  t.type(await lost, Error, 'the client has no answer');
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => createBurrow(survivor, 'key-of-many', 'Held')),
  );
  t.equal(answers.filter(isReplayed).length, 19);
  t.same(new Set(answers.map(answer => JSON.stringify(essence(answer)))).size, 1);
  t.match(answers[0], { status: 201, headers: { etag: '"1"', location: /^\/api\/burrows\// } });
  t.same(await countBurrows(pair, 'Held'), once);
});

t.test('killed between the commit and the answer: the other server has the answer', async t => {
  const pair = await startPair(t);
  const [, survivor] = pair.servers;
  const send = (server: Service) => createBurrow(server, 'key-of-one', 'Held');
  const answer = await killBeforeAnswer(t, pair, send);
  t.ok(isReplayed(answer));
  const { body, headers, status } = answer;
  t.match(body, { id: /^[-0-9a-f]{36}$/, label: 'Held', version: 1 });
  t.match(
    { status, headers },
    { status: 201, headers: { etag: '"1"', location: `/api/burrows/${body.id}` } },
  );
  const stored = await ask(`${survivor.url}/api/burrows/${body.id}`);
  t.match(stored.body, body, 'it is the record');
  t.same(await countBurrows(pair, 'Held'), once);
  t.same(essence(await send(survivor)), essence(answer), 'and so again');
});
