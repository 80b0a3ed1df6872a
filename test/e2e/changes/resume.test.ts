// runs: late
import t from 'tap';
import { followChanges } from '#test/rig/changes/follow.ts';
import { startPair } from '#test/rig/pair.ts';
import { clockAhead, startService, withWorld } from '#test/rig/process.ts';

const many = 2000;
t.test(
  `${many} changes through two servers, one of them killed: a reader that is cut each second gets each once`,
  async t => {
    const { servers, query, databaseUrl } = await startPair(t, {}, { NODE_OPTIONS: clockAhead(1) });
    const alive = servers.map(({ url }) => url);
    const env = { DATABASE_URL: databaseUrl, WORKER: 'apart' };
    const replace = async () => {
      await servers[1].kill();
      alive.pop();
      alive.push((await startService(t, env, { options: withWorld })).url);
    };
    await followChanges(t, { urls: () => alive, query, many, faults: [replace] });
  },
);
