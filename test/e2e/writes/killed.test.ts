import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { essence, isReplayed } from '../../helper/events/replays.ts';
import { type Answer, ask, json } from '../../rig/cluster/ask.ts';
import { closeGate, countPosts, createPost, freeze, type Pair, startPair } from '../../rig/pair.ts';
import { type Service, until } from '../../rig/process.ts';

t.setTimeout(180_000);

const atOnce = 50;
const once = { posts: 1, entries: 1 };

/** Whether the client can, and must, send the request again. */
const isRetryable = ({ status, headers, text }: Answer) =>
  Number(headers['retry-after']) > 0 &&
  (status === 503 || (status === 409 && JSON.parse(text).error.details.code === 'idempotency_in_progress'));

type Outcome = PromiseSettledResult<Answer>;
const answersIn = (outcomes: Outcome[]) =>
  outcomes.flatMap(outcome => (outcome.status === 'fulfilled' ? [outcome.value] : []));
const createdIn = (outcomes: Outcome[]) => answersIn(outcomes).filter(({ status }) => status === 201);

/** What every client must do: with the same key, until there is an answer. */
async function retry(send: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    const answer = await send();
    if (!isRetryable(answer) || attempt === 10) return answer;
    await sleep(Number(answer.headers['retry-after']) * 1000);
  }
}

/** The same request from many clients, the first of them to the server that will die. */
function sendMany(pair: Pair, title: string, first: () => Promise<unknown> = async () => {}) {
  const send = (server: Service) => createPost(server, pair, 'key-of-many', title);
  const [victim, survivor] = pair.servers;
  const firstSent = send(victim);
  const others = first().then(() =>
    Promise.allSettled(Array.from({ length: atOnce - 1 }, (_, i) => send(i % 2 ? victim : survivor))),
  );
  return {
    firstSent,
    outcomes: Promise.all([Promise.allSettled([firstSent]), others]).then(all => all.flat()),
  };
}

/** One record, whatever the clients were told so far; and all are told the same in the end. */
async function checkOnce(t: Test, pair: Pair, title: string, outcomes: Outcome[]) {
  const answered = answersIn(outcomes);
  const created = createdIn(outcomes);
  t.comment(
    `${created.length} created, ${answered.length - created.length} refused, ${atOnce - answered.length} lost`,
  );
  t.equal(outcomes.length, atOnce);
  t.same(
    answered.filter(answer => answer.status !== 201 && !isRetryable(answer)),
    [],
    'every answer is the record, or an error that says when to try again',
  );
  const retried = await Promise.all(
    outcomes.map(() => retry(() => createPost(pair.servers[1], pair, 'key-of-many', title))),
  );
  t.same(
    retried.filter(answer => !isReplayed(answer)),
    [],
    'every retry is answered from the first',
  );
  const answers = new Set([...created, ...retried].map(answer => JSON.stringify(essence(answer))));
  t.equal(answers.size, 1, 'and all answers are equal');
  t.match([...answers][0], /"status":201,"location":"\/api\/posts\/[-\w]+","etag":"\\"1\\""/);
  t.same(await countPosts(pair, title), once);
}

t.test(
  `${atOnce} equal creations with one key on two servers, of which one is killed: one record`,
  async t => {
    t.test('in its transaction: another server begins anew', async t => {
      const pair = await startPair(t);
      const gate = await closeGate(t, pair, 'its transaction');
      const { outcomes } = sendMany(pair, 'Held', gate.reached);
      await gate.reached();
      await pair.servers[0].kill();
      await gate.open();
      const all = await outcomes;
      await checkOnce(t, pair, 'Held', all);
      t.ok(createdIn(all).filter(answer => !isReplayed(answer)).length <= 1);
    });

    t.test('after its first answer', async t => {
      const pair = await startPair(t);
      const { firstSent, outcomes } = sendMany(pair, 'Free');
      await firstSent;
      await pair.servers[0].kill();
      await checkOnce(t, pair, 'Free', await outcomes);
    });
  },
);

const transports = {
  REST: (server: Service, pair: Pair) => createPost(server, pair, 'key-of-one', 'Held'),
  GraphQL: ({ url }: Service, { authorId }: Pair) => {
    const query = `mutation { createPost(input: { title: "Held", authorId: "${authorId}" }) { id title version } }`;
    return ask(`${url}/api/graphql`, json({ query }, { 'idempotency-key': 'key-of-one' }));
  },
};

for (const [transport, send] of Object.entries(transports))
  t.test(
    `killed between the commit and the answer: the other server has the answer (${transport})`,
    async t => {
      const pair = await startPair(t);
      const [victim, survivor] = pair.servers;
      const gate = await closeGate(t, pair, 'its commit');
      let answered = false;
      const lost = send(victim, pair).then(
        () => {
          answered = true;
        },
        (error: Error) => error,
      );
      await gate.reached();
      await freeze(victim);
      await gate.open();
      await until('it is committed', async () => (await countPosts(pair, 'Held'))?.posts === 1);
      t.notOk(answered);
      await victim.kill();
      t.type(await lost, Error, 'the client has no answer');

      const answer = await send(survivor, pair);
      t.ok(isReplayed(answer));
      const { body, id, location } = bodyOf(answer);
      t.match(body, { id: /^[-0-9a-f]{36}$/, title: 'Held', version: 1 });
      t.match(answer, { status: transport === 'REST' ? 201 : 200 });
      if (transport === 'REST') t.match(answer.headers, { etag: '"1"', location });
      const { text } = await ask(`${survivor.url}/api/posts/${id}`);
      t.match(JSON.parse(text), body, 'it is the record');
      t.same(await countPosts(pair, 'Held'), once);
      t.same(essence(await send(survivor, pair)), essence(answer), 'and so again');
    },
  );

function bodyOf({ text }: Answer) {
  const parsed = JSON.parse(text);
  const body = parsed.data?.createPost ?? parsed;
  return { body, id: body.id, location: `/api/posts/${body.id}` };
}
