import { type TSchema, Type } from '@sinclair/typebox';
import type { OpenAPIV3_1 } from 'openapi-types';
import t from 'tap';
import { components, strict, text } from '../../schemas/common.ts';
import { Settings } from '../../schemas/settings.ts';
import { compileCheck } from '../../src/core/validation.ts';
import { recordResources } from '../../src/resources.ts';
import { build } from '../helper/app.ts';

const valid = (schema: TSchema, value: unknown) => compileCheck(schema, 'body')(value) === undefined;

t.test('every component has its own name and a description', async t => {
  t.ok(components.size > 15, 'the application imports them all');
  for (const [name, { description }] of components) t.match(description, /^[A-Z].*\.$/, name);
  t.throws(() => strict({}, { $id: 'User' }), { message: 'There are two schemas "User".' });
});

t.test('an update gets no defaults', async t => {
  for (const { contract } of recordResources) {
    const value = {};
    t.ok(valid(contract.update, value));
    t.same(value, {}, String(contract.update.$id));
  }
});

t.test('text is counted in characters, and NUL and half surrogate pairs are refused', async t => {
  const three = text(1, 3, 'x', 'x');
  for (const good of ['a', '😀😀😀', '\u0001', '\uffff', '\ud83d\ude00']) t.ok(valid(three, good), good);
  for (const bad of ['', 'abcd', '😀😀😀😀', '\u0000', 'a\u0000', '\ud83d', '\ude00', '\ude00\ud83d'])
    t.notOk(valid(three, bad), JSON.stringify(bad));
});

t.test('every setting has a description, and its default is valid', async t => {
  for (const [name, schema] of Object.entries<TSchema>(Settings.properties)) {
    t.match(name, /^[A-Z]+(_[A-Z]+)*$/);
    t.match(schema.description, /\.$/, name);
    if (schema.default !== undefined)
      t.ok(valid(Type.Object({ value: schema }), { value: schema.default }), name);
    t.notOk(schema.secret && schema.default, `${name}: a secret has no default`);
  }
});

t.test('the words for a pattern are in messages, and not in the document', async t => {
  strict({ code: Type.String({ pattern: '^a$', patternMessage: 'must be an a' }) }, { $id: 'Worded' });
  t.teardown(() => components.delete('Worded'));
  const { app } = await build(t);
  const document = app.swagger() as OpenAPIV3_1.Document;
  t.same(document.components?.schemas?.Worded?.properties?.code, { type: 'string', pattern: '^a$' });
});
