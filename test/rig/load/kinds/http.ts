import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '#src/core/ids.ts';
import {
  bytesOf,
  countAnswers,
  flood,
  graphql,
  type Kind,
  pump,
  reconnect,
  together,
} from '#test/rig/load/client.ts';
import { burrowId, popular } from '#test/rig/load/data.ts';

const costly = [
  'specimens?sort=label&limit=100&page=2999',
  'specimens?sort=label&limit=100&page=2399&grade=fine',
  'specimens?sort=label&limit=100&page=2999&createdSince=1971-01-01T00:00:00Z',
  'specimens?createdSince=1971-01-01T00:00:00Z',
  `specimens?grade=fine&burrow=${burrowId(1)}`,
  'specimens?sort=-label&limit=100&page=2999',
];

const lists: Kind = {
  name: '4 costly lists',
  attack: (target, signal) => flood(target, signal, 10, n => ({ path: `/api/${costly[n % costly.length]}` })),
};

/** Returns the files that the pages of the service refer to. */
async function filesOf(port: number): Promise<string[]> {
  const pages = ['/docs', '/api/graphql'].map(async path => {
    const page = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { accept: 'text/html' } });
    return [...(await page.text()).matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, file = '']) => file);
  });
  const files = (await Promise.all(pages).catch(() => [])).flat();
  if (files.length > 0) return files;
  await sleep(100);
  return filesOf(port);
}

/** Asks for the files of the pages, many times on each connection, and reads nothing. */
const files: Kind = {
  name: '5a files that are not read',
  attack: async (target, signal) => {
    const asked = (await filesOf(target.port)).map(path => bytesOf(target, { path }));
    const ahead = Array.from({ length: 300 }, (_, n) => asked[n % asked.length]).join('');
    await together(10, async n => {
      await sleep(n * 300);
      await reconnect(target, signal, socket => {
        socket.pause().write(ahead);
        setTimeout(() => socket.destroy(), 5000);
      });
    });
  },
};

/** Sends requests without waiting for answers, even beyond its rate limit. */
const pipelines: Kind = {
  name: '5b beyond its limit',
  attack: async (target, signal) => {
    const ahead = Buffer.from(bytesOf(target, { path: '/api/users?limit=1' }).repeat(200));
    await reconnect(target, signal, socket => {
      countAnswers(socket, target);
      pump(socket, () => ahead);
    });
  },
};

/** Asks for more than sockets hold, and reads nothing: lists, answers of GraphQL, and changes since the beginning. */
const slowReader: Kind = {
  name: '7 what is not read',
  attack: async (target, signal) => {
    const list = bytesOf(target, { path: `/api/specimens?burrow=${popular}&limit=100` });
    const labels = Array.from({ length: 30 }, (_, n) => `a${n}: label`).join(' ');
    const answer = bytesOf(
      target,
      graphql(`{ burrow(id: "${popular}") { specimens(limit: 99) { ${labels} } } }`),
    );
    const changes = bytesOf(target, { path: `/api/changes?after=${target.position}` });
    await together(100, async n => {
      await reconnect(target, signal, socket => {
        // 18 requests are fewer than the 20 that may be unanswered on a connection.
        socket.pause().write(n < 8 ? answer.repeat(18) : n < 16 ? list.repeat(18) : changes);
        setTimeout(() => socket.destroy(), 10_000);
      });
    });
  },
};

/** Asks for the changes after a position that it makes up, which is refused after a look at the database. */
const positions: Kind = {
  name: '12 forged positions',
  attack: (target, signal) =>
    together(10, () =>
      reconnect(target, signal, socket => {
        countAnswers(socket, target).once('data', () => socket.destroy());
        socket.write(bytesOf(target, { path: `/api/changes?after=1.${newId(Date.now())}` }));
      }),
    ),
};

export const httpKinds = [lists, files, pipelines, slowReader, positions];
