import { Type } from '@sinclair/typebox';
import { Ajv } from 'ajv';
import t from 'tap';
import { componentsIn, strict, text } from '#schemas/parts/common.ts';
import { ProviderSettings } from '#schemas/service/provider.ts';
import { Settings } from '#schemas/settings.ts';
import { compileCheck } from '#src/core/validation.ts';
import { build } from '#test/helper/app.ts';

const url = Type.String({ pattern: '^https?://', patternMessage: 'must be an http URL' });
const check = compileCheck(
  strict({
    name: text(1, 5, 'A name.', 'Ada'),
    size: Type.Optional(Type.Integer({ minimum: 1, maximum: 9, default: 3 })),
    kind: Type.Optional(Type.String({ enum: ['a', 'b'] })),
    url: Type.Optional(url),
    urls: Type.Optional(Type.Array(url)),
    links: Type.Optional(Type.Array(strict({ url }))),
    when: Type.Optional(Type.String({ format: 'date-time' })),
    day: Type.Optional(Type.String({ format: 'date' })),
    email: Type.Optional(Type.String({ format: 'email' })),
  }),
  'body',
);
const violations = (value: unknown) => check(value)?.map(({ path, message }) => `${path} ${message}`);

t.test('a valid value passes and gets its defaults', async t => {
  const value = { name: 'Ada' };
  t.equal(check(value), undefined);
  t.same(value, { name: 'Ada', size: 3 });
});

t.test('every kind of violation has its own message', async t => {
  for (const name of ['', '😀'.repeat(6)])
    t.same(violations({ name }), ['/name must be 1 to 5 characters long']);
  t.same(violations({ name: 'x', kind: 'c' }), ['/kind must be one of "a", "b"']);
  for (const size of [0, '3', true, 2.5])
    t.same(violations({ name: 'x', size }), ['/size must be a whole number from 1 to 9']);
  for (const when of ['now', '2026-11-23', '2026-11-23T00:00:00', '2026-02-30T00:00:00Z'])
    t.same(violations({ name: 'x', when }), [
      '/when must be a time with its zone from the year 1 to 9999, such as 2026-11-23T00:00:00Z',
    ]);
  t.same(violations({ name: 'x', day: '23.11.2026' }), [
    '/day must be a date from the year 1 to 9999, such as 2026-11-23',
  ]);
  for (const email of ['ada', 'ada@example', ' ada@example.com', 'ada@example.com\n'])
    t.same(violations({ name: 'x', email }), ['/email must be a valid e-mail address']);
  t.equal(
    violations({ name: 'x', when: '2026-11-23T00:00:00Z', day: '2026-11-23', email: 'a@b.co' }),
    undefined,
  );
});

t.test('a schema may have words for its pattern, wherever it is', async t => {
  const wrong = { url: 'ftp://x', urls: ['http://x', 'x'], links: [{ url: '' }] };
  t.same(violations({ name: 'x', ...wrong }), [
    '/url must be an http URL',
    '/urls/1 must be an http URL',
    '/links/0/url must be an http URL',
  ]);
});

t.test('each schema of a request or of settings is valid: the service does not look', async t => {
  const { app } = await build(t);
  // Looks as the service would: numbers must be finite.
  const ajv = new Ajv({ strict: false, strictNumbers: true });
  const schemas = app.routes.flatMap(({ schema = {} }) => [schema.body, schema.querystring, schema.params]);
  const given = new Set(schemas.filter(each => typeof each === 'object' && each !== null));
  t.ok(given.size > 30, `${given.size} schemas`);
  for (const each of [Settings, ProviderSettings, ...given, ...componentsIn([...given]).values()])
    t.ok(ajv.validateSchema(each), `${JSON.stringify(each).slice(0, 200)} ${JSON.stringify(ajv.errors)}`);
});
