import { setTimeout as sleep } from 'node:timers/promises';
import { bytesOf, countAnswers, flood, graphql, type Kind, reconnect, together } from '../client.ts';
import { popular, userId, wide } from '../data.ts';

/** So many aliases as a document may have. */
const aliased = (field: (n: number) => string) =>
  Array.from({ length: 30 }, (_, n) => `a${n}: ${field(n)}`).join(' ');

/** 49,000 records with thirty texts each: 735 MB, or 150. */
const answers: Kind = {
  name: '1 answers without an end',
  attack: (target, signal) =>
    flood(target, signal, 20, n =>
      graphql(
        `{ user(id: "${popular}") { posts { author { posts(limit: ${n % 2 ? 47 : 10}) { ${aliased(() => 'title')} } } } } }`,
      ),
    ),
};

const bursts: Kind = {
  name: '2 bursts of small queries',
  attack: (target, signal) =>
    flood(target, signal, 100, n =>
      graphql(
        n % 2
          ? '{ users { posts(limit: 24) { id author { id } } } }'
          : `{ users { ${aliased(each => `postsCount(title: "Post number ${each}")`)} } }`,
      ),
    ),
};

/** Opens as many as it may. What others write makes each of them read 4,700 posts and send 9 MB, all that one result may have. */
const streams: Kind = {
  name: '3 a hundred subscriptions',
  attack: async (target, signal) => {
    const query =
      'subscription { postChanged { post { author { posts(limit: 48) { author { posts(limit: 98) { title b: title c: title d: title } } } } } } }';
    const open = bytesOf(target, graphql(query, { accept: 'text/event-stream' }));
    await together(100, () =>
      reconnect(target, signal, socket => {
        countAnswers(socket, target);
        socket.write(open);
        // One that was refused tries again.
        socket.once('data', async data => {
          if (data.toString('latin1', 9, 12) === '200') return;
          await sleep(1000);
          socket.destroy();
        });
      }),
    );
  },
};

/** A mutation that changes nothing, whose answer of 720 KB is kept for its key. */
const keptAnswers: Kind = {
  name: '11 answers that are kept',
  attack: (target, signal) =>
    flood(target, signal, 4, n =>
      graphql(
        `mutation { updateUser(id: "${wide}", input: {}) { ${aliased(() => 'postsConnection(first: 16) { nodes { title } }')} } }`,
        { 'idempotency-key': `load-${userId(n)}-${process.pid}` },
      ),
    ),
};

export const graphqlKinds = [answers, bursts, streams, keptAnswers];
