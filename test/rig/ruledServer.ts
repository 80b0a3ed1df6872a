import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { pino } from 'pino';
import { systemContext } from '../../src/core/context.ts';
import { openPostgres } from '../../src/database/postgres/postgres.ts';
import { post } from '../../src/services/posts.ts';
import { changesOf } from '../../src/services/records.ts';

/**
 * A server of changes of posts under a rule: a post that is published stays so. It answers with the status after a
 * change.
 */
const { change: changePost } = changesOf(post, {
  check(stored, { status }) {
    if (stored.status === 'published' && status === 'draft') throw new Error('It is published.');
  },
});

const log = pino();
const database = openPostgres({ url: process.env.DATABASE_URL ?? '', connections: 4 }, log);
await database.ready;
const context = systemContext({ db: database.writes, log }, 'test', 'command');
const server = createServer(async (request, response) => {
  const { id, ...input } = (await json(request)) as { id: string; status: 'draft' | 'published' };
  const change = changePost(context, id, input);
  response.end(
    await change.then(
      ({ status }) => status,
      ({ message }) => message,
    ),
  );
});
await once(server.listen(0, '127.0.0.1'), 'listening');
log.info(`Triport serves http://127.0.0.1:${(server.address() as AddressInfo).port}`);
