// runs: in its own process, also on embedded
import t from 'tap';
import { subscriptions } from '#drizzle/tables/service/subscriptions.ts';
import { webhookEvents } from '#drizzle/tables/service/webhookEvents.ts';
import { newRecord } from '#src/core/ids.ts';
import { orm } from '#src/database/connection.ts';
import { fingerprintOf } from '#src/webhooks/envelope.ts';
import { backend } from '#test/helper/database.ts';
import { buildGraphQL } from '#test/helper/graphql.ts';
import { burrow } from '#test/world/burrows.ts';
import { specimen } from '#test/world/specimens.ts';

const { call, ask, make, database, statements } = await buildGraphQL(t);
const homes = [await make(burrow), await make(burrow)];
const made = [];
for (const [label, bones, burrowId] of [
  ['Notes on the engine', 1, homes[0]?.id],
  ['No%_\\', 2, homes[1]?.id],
  ['notes, 1.5 a-b', 3, homes[1]?.id],
  ['\ud7ff', 4, homes[1]?.id],
  ['\u{10ffff}\u{10ffff}', 5, homes[1]?.id],
] as const)
  made.push(await make(specimen, { label, bones, burrowId: burrowId ?? '', foundAt: null, remark: null }));
const path = '/api/specimens';
const bonesOf = async (asked: Record<string, string>, spelled = `${new URLSearchParams(asked)}`) =>
  (await call('GET', `${path}?${spelled}`, 200)).body.data.map(({ bones }: { bones: number }) => bones);

t.test('an operator selects what its name says, and no character of a text is special', async t => {
  const selected: [asked: Record<string, string>, bones: number[]][] = [
    [{ 'burrow[in]': `${homes[1]?.id},${homes[1]?.id}` }, [2, 3, 4, 5]],
    [{ 'bones[gt]': '1', 'bones[lte]': '3' }, [2, 3]],
    [{ 'bones[gte]': '3', 'bones[lt]': '3' }, []],
    [{ 'bones[lt]': '3000000000' }, [1, 2, 3, 4, 5]],
    [{ 'label[startsWith]': 'No' }, [1, 2]],
    [{ 'label[startsWith]': 'No%' }, [2]],
    [{ 'label[startsWith]': 'No%_\\' }, [2]],
    [{ 'label[startsWith]': '\ud7ff' }, [4]],
    [{ 'label[startsWith]': '\u{10ffff}' }, [5]],
    [{ 'foundAt[isNull]': 'true', 'bones[lt]': '3' }, [1, 2]],
    [{ q: 'NOTES eng' }, [1]],
    [{ q: '1 5' }, [3]],
    [{ q: '5-a' }, [3]],
    [{ q: 'otes' }, []],
  ];
  for (const [asked, bones] of selected) t.same(await bonesOf(asked), bones, JSON.stringify(asked));
  t.same(await bonesOf({}, 'bones%5Bgt%5D=1'), [2, 3, 4, 5], 'both spellings of brackets');
  t.same(await bonesOf({}, 'bones[gt]=1'), [2, 3, 4, 5], 'both spellings of brackets');
  const { headers } = await call('GET', `${path}?burrow[in]=${homes[1]?.id},${homes[0]?.id}&limit=2`, 200);
  const [, next = ''] = /<([^>]*)>; rel="next"/.exec(`${headers.link}`) ?? [];
  t.match(next, 'burrow%5Bin%5D=');
  t.equal((await call('GET', next, 200)).body.data.length, 2);
});

t.test('what an operator cannot be asked is refused by its name', async t => {
  const refused: [asked: string, path: string, message: RegExp][] = [
    ['grade[in]=', '/grade[in]', /^must be one of "rough", "fair", "fine"$/],
    ['grade[in]=fine,red,blue', '/grade[in]', /^must be one of "rough", "fair", "fine"$/],
    ['burrow[in]=7', '/burrow[in]', /^must be an id$/],
    [`burrow[in]=${Array(101).fill(homes[0]?.id)}`, '/burrow[in]', /^must have at most 100 items$/],
    ['grade[in]=fine&grade[in]=rough', '/grade[in]', /^must be given once$/],
    ['bones[gte]=1.5', '/bones[gte]', /^must be a whole number/],
    ['cents[gte]=9007199254740992', '/cents[gte]', /^must be a whole number/],
    ['weight[lt]=1e999', '/weight[lt]', /^must be a number$/],
    ['foundAt[lt]=Friday', '/foundAt[lt]', /^must be a time/],
    ['foundAt[isNull]=yes', '/foundAt[isNull]', /^must be a boolean$/],
    ['label[startsWith]=', '/label[startsWith]', /^must be 1 to 200 characters long$/],
    ['q=', '/q', /^must be 1 to 200 characters long$/],
    ['q=...', '/q', /^must have 1 to 10 words/],
    ['q=a+b+c+d+e+f+g+h+i+j+k', '/q', /^must have 1 to 10 words/],
    ['bones[ge]=1', '/bones[ge]', /^is not known; did you mean "bones\[gte?\]"\?$/],
    ['label[in]=a', '/label[in]', /^is not known; did you mean "label"\?$/],
    ['finder[startsWith]=a', '/finder[startsWith]', /^is not known; did you mean "finder"\?$/],
    ['remark=a', '/remark', /^is not known/],
  ];
  for (const [asked, path_, message] of refused) {
    const { error } = (await call('GET', `${path}?${asked}`, 400)).body;
    t.match(error.details, [{ in: 'query', path: path_, message }], asked);
    t.equal(error.details.length, 1, asked);
  }
});

t.test(
  'a cursor fits only the operators and values that it was made with, however they are spelled',
  async () => {
    const id = homes.map(({ id }) => id);
    const cursorOf = async (asked: string) =>
      (await call('GET', `${path}?${asked}&limit=1&after=`, 200)).body.meta.next;
    const fits: [made: string, used: string, fits: boolean][] = [
      [`burrow[in]=${id}`, `burrow[in]=${id.toReversed()},${id[0]}`, true],
      [`burrow[in]=${id}`, `burrow[in]=${id[1]}`, false],
      ['bones[gte]=1', 'bones[gt]=1', false],
      ['bones[gte]=1', 'bones[gte]=2', false],
      ['q=no', 'q=not', false],
      ['foundAt[isNull]=true', 'foundAt[isNull]=false', false],
      ['createdSince=2020-01-01T00:00:00Z', 'createdSince=2020-01-01T01:00:00%2B01:00', true],
    ];
    for (const [one, other, isSame] of fits) {
      const next = await cursorOf(one);
      await call('GET', `${path}?${other}&limit=1&after=${next}`, isSame ? 200 : 400);
    }
    await database.writes.rows(`update specimens set found_at = '2020-01-01' where bones < 3`, []);
    const next = await cursorOf('foundAt[lte]=2020-01-01T00:00:00Z');
    await call('GET', `${path}?foundAt[lte]=2020-01-01T02:00:00.0004%2B02:00&limit=1&after=${next}`, 200);
  },
);

t.test(
  'in GraphQL the arguments have their types, null is the same as absent, and a refusal names them',
  async t => {
    const bones = async (args: string) => (await ask(`{ specimens(${args}) { bones } }`)).data?.specimens;
    t.same(await bones('bonesGte: 4, labelStartsWith: null, gradeIn: null, q: null'), [
      { bones: 4 },
      { bones: 5 },
    ]);
    t.same(await bones(`burrowIn: ["${homes[0]?.id}"], weightIsNull: false`), [{ bones: 1 }]);
    const codes: [args: string, code: string, name?: string][] = [
      ['gradeIn: []', 'BAD_USER_INPUT', '/gradeIn'],
      ['burrowIn: ["x"]', 'BAD_USER_INPUT', '/burrowIn'],
      ['q: "-"', 'BAD_USER_INPUT', '/q'],
      ['gradeIn: [red]', 'GRAPHQL_VALIDATION_FAILED'],
      ['bonesGte: "1"', 'GRAPHQL_VALIDATION_FAILED'],
      ['isWetIn: [true]', 'GRAPHQL_VALIDATION_FAILED'],
    ];
    for (const [args, code, name] of codes) {
      const { errors } = await ask(`{ specimens(${args}) { bones } }`);
      t.match(errors, [{ extensions: { code, ...(name && { details: [{ path: name }] }) } }], args);
    }
    const nested = await ask(`{ burrow(id: "${homes[0]?.id}") { specimens(burrowIn: []) { id } } }`);
    t.match(nested.errors, [{ message: /Unknown argument "burrowIn"/ }]);
  },
);

t.test('subscriptions and events are listed by several states', async t => {
  const db = orm(database.writes);
  for (const [i, status] of (['active', 'paused', 'unpaid'] as const).entries()) {
    const { version: _, ...key } = newRecord({ now: () => new Date() });
    const customer = { customer: `cus_${i}`, provider: 'stripe', activatedAt: null, ...key, status };
    await db.insert(subscriptions).values(customer);
    const event = {
      provider: 'p',
      preset: 'p',
      type: 'paid',
      body: Buffer.from('{}'),
      fingerprint: fingerprintOf(`${i}`),
    };
    const states = ['dead', 'failed', 'processed'] as const;
    await db.insert(webhookEvents).values({ ...key, ...event, status: states[i] ?? 'dead' });
  }
  const listed = async (asked: string) =>
    (await call('GET', asked, 200)).body.data.map(({ status }: { status: string }) => status);
  for (const sort of ['createdAt', 'customer'])
    for (const cursor of ['', '&after='])
      t.same(await listed(`/api/subscriptions?status[in]=unpaid,active&sort=${sort}${cursor}`), [
        'active',
        'unpaid',
      ]);
  const { meta } = (await call('GET', '/api/subscriptions?status[in]=unpaid,active&limit=1', 200)).body;
  t.equal(meta.total, 2);
  for (const others of ['', '&type=paid', '&provider=p', '&type=paid&createdSince=2020-01-01T00:00:00Z'])
    t.same(
      await listed(`/api/webhook-events?status[in]=dead,processed${others}`),
      ['processed', 'dead'],
      others,
    );
});

t.test('words are runs of letters, marks and digits of any script, of 200 characters at most', async t => {
  const separate = /[^\p{L}\p{M}\p{Nd}]/u;
  const isAssigned = /[^\p{Cn}\p{Cs}]/u;
  const points = Array.from({ length: 0x110000 }, (_, point) => point).filter(
    point => point > 0 && isAssigned.test(String.fromCodePoint(point)),
  );
  // Between two letters, a character that separates makes two words. One statement for all would take longer than a
  // statement may on a busy machine.
  const separators: number[] = [];
  for (let first = 0; first < points.length; first += 20_000) {
    const texts = points.slice(first, first + 20_000).map(point => `a${String.fromCodePoint(point)}b`);
    const separated = await database.reads.rows(
      `select n::int from unnest($1::text::text[]) with ordinality as given (word, n)
        where cardinality(search_words(word)) = 2 order by n`,
      [`{${texts.map(text => `"${text.replace(/["\\]/g, '\\$&')}"`)}}`],
    );
    separators.push(...separated.map(([n]) => points[first + Number(n) - 1] as number));
  }
  t.same(
    separators,
    points.filter(point => separate.test(String.fromCodePoint(point))),
  );
  const lengths = `select char_length(word)
    from unnest(search_words(repeat('Ä', 250) || ' ' || repeat('b', 201))) as word`;
  t.same(await database.reads.rows(lengths, []), [[200], [200]]);
});

t.test('however many combinations clients send, few statements are prepared', async t => {
  const given = 'grade=fine bones[gte]=1 bones[lt]=9 weight[isNull]=true label[startsWith]=N q=n'.split(' ');
  const asked = Array.from({ length: 2 ** given.length }, (_, bits) =>
    given.filter((_, i) => bits & (1 << i)),
  );
  const sent = [new Set<unknown>(), new Set<unknown>()];
  for (const [i, each] of asked.entries()) {
    const sort = specimen.contract.sorts[i % specimen.contract.sorts.length];
    statements.length = 0;
    await call('GET', `${path}?${[...each, `sort=${sort}`].join('&')}`, 200);
    for (const statement of statements) sent[each.length > 1 ? 1 : 0]?.add(statement);
  }
  const [ofOne = new Set(), ofSeveral = new Set()] = sent;
  t.ok(ofSeveral.size > 50, `${ofSeveral.size} statements`);
  if (backend === 'embedded') return;
  // Several at once, because each connection knows its own.
  const known = 'select statement from pg_prepared_statements, pg_sleep(0.1)';
  const prepared = (await Promise.all([1, 2, 3, 4].map(() => database.reads.rows(known, [])))).flat(2);
  t.ok(prepared.filter(each => ofOne.has(each)).length > 2, 'some with one criterion are prepared');
  t.same(
    prepared.filter(each => ofSeveral.has(each)),
    [],
    'none with several',
  );
});
