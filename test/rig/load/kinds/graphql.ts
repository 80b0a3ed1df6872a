import { setTimeout as sleep } from 'node:timers/promises';
import {
  bytesOf,
  countAnswers,
  flood,
  graphql,
  type Kind,
  reconnect,
  together,
} from '#test/rig/load/client.ts';
import { burrowId, popular, wide } from '#test/rig/load/data.ts';

/** As many aliases as a document may have. */
const aliased = (field: (n: number) => string) =>
  Array.from({ length: 30 }, (_, n) => `a${n}: ${field(n)}`).join(' ');

/** 49,000 records with thirty texts each make 735 MB; the smaller limit makes 150 MB. */
const answers: Kind = {
  name: '1 answers without an end',
  attack: (target, signal) =>
    flood(target, signal, 20, n =>
      graphql(
        `{ burrow(id: "${popular}") { specimens { burrow { specimens(limit: ${n % 2 ? 47 : 10}) { ${aliased(() => 'label')} } } } } }`,
      ),
    ),
};

const bursts: Kind = {
  name: '2 bursts of small queries',
  attack: (target, signal) =>
    flood(target, signal, 100, n =>
      graphql(
        n % 2
          ? '{ burrows { specimens(limit: 24) { id burrow { id } } } }'
          : `{ burrows { ${aliased(each => `specimensCount(label: "Specimen number ${each}")`)} } }`,
      ),
    ),
};

/** A write by others makes each subscription read 4,700 specimens and send 9 MB, the most that one result may have. */
const streams: Kind = {
  name: '3 a hundred subscriptions',
  attack: async (target, signal) => {
    const query =
      'subscription { specimenChanged { specimen { burrow { specimens(limit: 48) { burrow { specimens(limit: 98) { label b: label c: label d: label } } } } } } }';
    const open = bytesOf(target, graphql(query, { accept: 'text/event-stream' }));
    await together(100, () =>
      reconnect(target, signal, socket => {
        countAnswers(socket, target);
        socket.write(open);
        // A refused subscription is tried again after a second.
        socket.once('data', async data => {
          if (data.toString('latin1', 9, 12) === '200') return;
          await sleep(1000);
          socket.destroy();
        });
      }),
    );
  },
};

/** A mutation that changes nothing and whose answer of 720 KB is kept for its key. */
const keptAnswers: Kind = {
  name: '11 answers that are kept',
  attack: (target, signal) =>
    flood(target, signal, 4, n =>
      graphql(
        `mutation { updateBurrow(id: "${wide}", input: {}) { ${aliased(() => 'specimensConnection(first: 16) { nodes { label } }')} } }`,
        { 'idempotency-key': `load-${burrowId(n)}-${process.pid}` },
      ),
    ),
};

export const graphqlKinds = [answers, bursts, streams, keptAnswers];
