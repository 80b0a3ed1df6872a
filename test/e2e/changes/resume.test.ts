import t from 'tap';
import { changeMuch, mistakesIn, noMistakes, readInPieces } from '../../rig/changes.ts';
import { startPair } from '../../rig/pair.ts';
import { startService, until } from '../../rig/process.ts';

const many = 2000;
/** Loaded by a server whose clock is a minute ahead. */
const ahead = `data:text/javascript,const D=Date;globalThis.Date=class extends D{
  constructor(...given){given.length>0?super(...given):super(D.now()+6e4)}static now(){return D.now()+6e4}}`;
const committedOnes = `select record_id || ' ' || version as one from audit_log where version is not null`;

t.test(
  `${many} changes through two servers, one of them killed: a reader that is cut each second gets each once`,
  async t => {
    const { servers, query, databaseUrl } = await startPair(
      t,
      {},
      { NODE_OPTIONS: `--import=${ahead.replaceAll(/\s+/g, '%20')}` },
    );
    const alive = servers.map(({ url }) => url);
    const reader = readInPieces(() => alive);
    await reader.begun;
    let committed: string[] = [];
    const count = async () => {
      committed = (await query(committedOnes)).map(({ one }) => String(one));
      return committed.length;
    };
    let isOver = false;
    const writing = changeMuch(
      () => alive,
      () => isOver,
    );
    await until('a third is written', async () => (await count()) > many / 3, 60);
    await servers[1].kill();
    alive.pop();
    alive.push((await startService(t, { DATABASE_URL: databaseUrl, WORKER: 'apart' })).url);
    await until('all is written', async () => (await count()) > many, 60);
    isOver = true;
    await writing;
    await count();
    await until('the reader is done', () => new Set(reader.seen).size >= committed.length);
    await reader.stop();
    t.comment(`${committed.length} changes, ${reader.cuts()} pieces`);
    t.same(mistakesIn(reader.seen, committed), noMistakes);
    t.ok(reader.cuts() > 3);
  },
);
