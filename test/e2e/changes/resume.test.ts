// runs: late
import t from 'tap';
import { followChanges } from '#test/rig/changes.ts';
import { startPair } from '#test/rig/pair.ts';
import { preload, startService, withWorld } from '#test/rig/process.ts';

const many = 2000;
/** Sets the clock of the server that loads it a minute ahead. */
const ahead = preload(`const D=Date;globalThis.Date=class extends D{
  constructor(...given){given.length>0?super(...given):super(D.now()+6e4)}static now(){return D.now()+6e4}}`);

t.test(
  `${many} changes through two servers, one of them killed: a reader that is cut each second gets each once`,
  async t => {
    const { servers, query, databaseUrl } = await startPair(t, {}, { NODE_OPTIONS: ahead });
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
