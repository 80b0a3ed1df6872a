import t from 'tap';
import { planOf } from '../../scripts/lib/resource/plan.ts';

t.test('npm run new names a resource in one and many, in tables and types', async t => {
  t.match(planOf('category', { 'belongs-to': 'post', fields: 'title,onTop:boolean' }), {
    plural: 'categories',
    Type: 'Category',
    Types: 'Categories',
    parents: [{ name: 'post' }],
    fields: [
      { name: 'title', column: 'title', type: 'string' },
      { name: 'onTop', column: 'on_top', type: 'boolean' },
    ],
  });
  for (const [name, plural] of [
    ['comment', 'comments'],
    ['day', 'days'],
    ['box', 'boxes'],
    ['branch', 'branches'],
  ])
    t.equal(planOf(name, { fields: 'x' }).plural, plural);
  t.equal(planOf('person', { fields: 'x', plural: 'people' }).plural, 'people');
});

t.test('it refuses what it cannot make', async t => {
  const refused: [string, Parameters<typeof planOf>[1], RegExp][] = [
    ['', { fields: 'x' }, /The name must be one lower-case word/],
    ['lineItem', { fields: 'x' }, /The name must be one lower-case word/],
    ['post', { fields: 'x' }, /There is a post already/],
    ['thing', {}, /Name at least one field/],
    ['thing', { fields: 'id' }, /The name 'id' is taken/],
    ['thing', { fields: 'x,x' }, /The name 'x' is taken/],
    ['thing', { fields: 'user', 'belongs-to': 'user' }, /The name 'user' is taken/],
    ['thing', { fields: 'x:strin' }, /'strin' is no type of a field: use one of string, integer, boolean/],
    ['thing', { fields: 'x-y' }, /'x-y' is no name of a field/],
    ['thing', { fields: 'x', 'belongs-to': 'bar' }, /There is no bar: a parent is one of user, post/],
  ];
  for (const [name, given, message] of refused) t.throws(() => planOf(name, given), { message });
});
