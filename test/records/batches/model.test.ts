import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { count, inArray } from '#drizzle/orm.ts';
import { auditLog } from '#drizzle/tables/service/auditLog.ts';
import { compose, offer } from '#src/compose.ts';
import { type Connection, orm } from '#src/database/connection.ts';
import type { Database } from '#src/database/database.ts';
import { build } from '#test/helper/app.ts';
import { openTestDatabase } from '#test/helper/database.ts';
import { digging } from '#test/helper/resources/batches.ts';
import { kindNames, Model, type Operation } from '#test/helper/resources/model.ts';
import { any, below, seed } from '#test/helper/values/random.ts';
import { burrow } from '#test/world/burrows.ts';
import { domain as ours } from '#test/world/index.ts';
import { operationsOf } from '#test/world/operations.ts';

const rounds = 120;

type Service = Awaited<ReturnType<typeof build>>;

/** Draws a batch; what the model must be after it, and what the answer must say. */
function drawBatch(model: Model) {
  const after = model.copy();
  const operations: Operation[] = [];
  const statuses: number[] = [];
  let refusal: { status: number; operation: number; refusal: string } | undefined;
  // Most of what is drawn for a few records is refused, so they get more by batches of one operation.
  const most = model.records.size < 10 ? 1 : 9;
  for (const length = 1 + below(most); operations.length < length; ) {
    const n = operations.length;
    const operation = after.draw(n);
    operations.push(operation);
    if (refusal) continue;
    const outcome = after.apply(operation, n);
    if ('refusal' in outcome) refusal = { operation: n, ...outcome };
    statuses.push(outcome.status);
  }
  const isWrong = ({ body = {} }: Operation) =>
    Object.entries(body).some(
      ([name, value]) =>
        /Id$/.test(name) && /^\$/.test(value) && operations[value.slice(1)]?.method !== 'POST',
    );
  return {
    operations,
    after,
    statuses,
    refusal,
    wrong: operations.flatMap((each, n) => (isWrong(each) ? n : [])),
  };
}

/** Sends a random batch, and compares the answer with the model. Returns the model of what is stored now. */
async function step(t: Test, { send }: Service, model: Model): Promise<Model> {
  const { operations, after, statuses, refusal, wrong } = drawBatch(model);
  const { answer, lie } = await send('POST', '/api/batch', { body: { operations } });
  if (lie) t.fail(lie);
  const { status, body } = answer;
  const said = JSON.stringify({ seed, operations, body }, null, 1);
  if (wrong.length > 0) {
    const paths = body.error?.details.map?.(({ path }: { path: string }) => Number(path.split('/')[2]));
    t.same([status, [...new Set(paths)]], [400, wrong], said);
    return model;
  }
  if (refusal) {
    const { details } = body.error ?? {};
    const expected = `/operations/${refusal.operation}/body${refusal.refusal}`;
    const isTold = Array.isArray(details)
      ? details.length === 1 && details[0].path === expected
      : details?.operation === refusal.operation &&
        details.code.startsWith(refusal.refusal.replace(/(?<=_has_).*/, ''));
    t.ok(status === refusal.status && isTold, `${JSON.stringify(refusal)}: ${said}`);
    return model;
  }
  const results: { status: number; body?: { id: string } }[] = body.results ?? [];
  t.same([status, results.map(each => each.status)], [200, statuses], said);
  const created = operations.flatMap(({ method }, n) =>
    method === 'POST' ? [[`$${n}`, String(results[n]?.body?.id)] as const] : [],
  );
  after.rename(new Map(created));
  return after;
}

/** Compares all that is stored of the model, and how often the audit log names each record, with the model. */
async function compare(
  t: Test,
  { call, database }: Service,
  model: Model,
  isOurs: (record: never) => boolean,
) {
  for (const kind of kindNames) {
    const stored = new Map<string, object>();
    for (let after: string | null = ''; after !== null; ) {
      const { body } = await call('GET', `/api/${kind}?limit=100&after=${after}`, 200);
      for (const { id, createdAt, updatedAt, ...record } of body.data) stored.set(id, record);
      after = body.meta.next;
    }
    const expected = model.idsOf(kind).map(id => [id, model.records.get(id)] as const);
    for (const [id, record] of expected)
      t.match(stored.get(id), { ...record?.members, version: record?.version }, `${kind} ${id}`);
    const others = [...stored].filter(([id, record]) => !model.records.has(id) && isOurs(record as never));
    t.same(others, [], `no other ${kind}`);
    t.equal(
      (await call('GET', `/api/${kind}?limit=1`, 200)).body.meta.total,
      stored.size,
      `total of ${kind}`,
    );
  }
  const known = [...model.records].map(([id, { entries }]) => [id, entries] as const);
  const expected = new Map([...known, ...model.gone]);
  const logged = await orm(database.writes)
    .select({ id: auditLog.recordId, entries: count() })
    .from(auditLog)
    .where(inArray(auditLog.recordId, [...expected.keys()]))
    .groupBy(auditLog.recordId);
  t.same(new Map(logged.map(({ id, entries }) => [id, entries])), expected, 'each change has one entry');
}

/** Returns the database with other statements in its transactions. */
const withRows = (database: Database, change: (db: Connection) => Connection['rows']): Database => ({
  ...database,
  writes: {
    ...database.writes,
    transaction: work => database.writes.transaction(inside => work({ ...inside, rows: change(inside) })),
  },
});

t.test('creations are sent one behind the other, and any other write waits for those before it', async t => {
  let [running, most] = [0, 0];
  const database = withRows(await openTestDatabase(t), db => async (...statement) => {
    most = Math.max(most, ++running);
    return db.rows(...statement).finally(() => running--);
  });
  const { call } = await build(t, { database });
  const send = async (operations: object[]) => {
    most = 0;
    return (await call('POST', '/api/batch', 200, { body: { operations } })).body.results;
  };
  const child = digging('B', { parentId: '$0' });
  const [first, ...others] = await send([digging('A'), child, child, child, child, child]);
  t.ok(most >= 4, `${most} statements at once`);
  t.ok(others.every(({ body }: { body: { parentId: string } }) => body.parentId === first.body.id));
  const change = { method: 'PATCH', path: `/api/burrows/${first.body.id}`, body: { label: 'C' } };
  await send([digging('A'), change, digging('A')]);
  t.equal(most, 1);
});

t.test('what ends after its deadline is not committed', async t => {
  const opened = await openTestDatabase(t);
  const database = withRows(opened, db => async (...statement) => {
    await sleep(1200);
    return db.rows(...statement);
  });
  const { call } = await build(t, { database, settings: { REQUEST_TIMEOUT: 1 } });
  await call('POST', '/api/batch', 503, { body: { operations: [digging('A'), digging('A')] } });
  await sleep(500);
  t.equal((await call('GET', '/api/burrows', 200)).body.meta.total, 0);
});

t.test('what a service function returns besides the members of the contract is not sent', async t => {
  const { create, ...rest } = operationsOf(burrow);
  const telling = Object.assign(
    async (...input: Parameters<typeof create>) => ({ ...(await create(...input)), secret: 'x' }),
    { scope: create.scope },
  );
  const others = ours.resources.filter(({ resource }) => resource.name !== 'burrow');
  const domain = compose({ ...ours, resources: [...others, offer({ ...rest, create: telling })] });
  const { call } = await build(t, { domain: domain as never });
  const { text } = await call('POST', '/api/batch', 200, { body: { operations: [digging('A')] } });
  t.notMatch(text, 'secret');
});

t.test(
  'random batches do what a model says, beside other writers of the same tables and records',
  async t => {
    const service = await build(t);
    let model = new Model();
    let isRunning = true;
    /** Creates, changes and deletes records of its own, and takes the locks of others without changing them. */
    async function writeBeside(): Promise<void> {
      while (isRunning) {
        const { body: home } = await service.call('POST', '/api/burrows', 201, { body: { label: 'beside' } });
        const body = { label: 'beside', burrowId: home.id };
        await service.call('POST', '/api/specimens', 201, { body });
        const kind = any(kindNames);
        const id = any(model.idsOf(kind));
        if (id) await service.send('PATCH', `/api/${kind}/${id}`, { body: {} });
        await service.call('DELETE', `/api/burrows/${home.id}?cascade=true`, 204);
      }
    }
    const writers = Array.from({ length: 4 }, writeBeside);
    let written = 0;
    for (let i = 0; i < rounds; i++) {
      const before = model;
      model = await step(t, service, model);
      if (model !== before) written++;
    }
    isRunning = false;
    await Promise.all(writers);
    t.ok(written > rounds / 10, `${written} of ${rounds} batches were written`);
    t.comment(`${written} of ${rounds} batches were written: ${model.records.size} records, seed ${seed}`);
    await compare(t, service, model, ({ label }: { label?: string }) => label !== 'beside');
  },
);
