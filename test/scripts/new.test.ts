import t from 'tap';
import { planOf } from '../../scripts/lib/resource/plan.ts';
import { tableFile } from '../../scripts/lib/resource/storage.ts';

t.test('npm run new names a resource in one and many, in tables and types', async t => {
  t.match(planOf('category', { 'belongs-to': 'post', fields: 'title,onTop:boolean' }), {
    plural: 'categories',
    Type: 'Category',
    Types: 'Categories',
    parents: [{ name: 'post' }],
    fields: [
      { name: 'title', column: 'title', type: 'string' },
      { name: 'onTop', words: 'on top', column: 'on_top', type: 'boolean' },
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
    ['', { fields: 'x' }, /must be lower-case words/],
    ['lineItem', { fields: 'x' }, /must be lower-case words/],
    ['thing', { fields: 'x', plural: '../things' }, /must be lower-case words/],
    ['sheep', { fields: 'x', plural: 'sheep' }, /The plural must differ from the name/],
    ['post', { fields: 'x' }, /The resource post already exists/],
    ['class', { fields: 'x' }, /The word 'class' is reserved/],
    ['page', { fields: 'x' }, /The word 'page' is reserved/],
    ['thing', { fields: 'x', plural: 'check' }, /The word 'check' is reserved/],
    ['record', { fields: 'x' }, /The file src\/services\/records.ts already exists/],
    // Each handler of a route has a parameter of this name.
    ['reply', { fields: 'x', plural: 'answers' }, /The word 'reply' is reserved/],
    [
      'thing',
      { fields: 'x', plural: 'replies' },
      /The file plugins\/rest\/replies.ts already exists: choose another/,
    ],
    ['thing', { fields: 'version:integer' }, /The name 'version' is taken/],
    ['thing', { fields: 'createdSince' }, /The name 'createdSince' is taken/],
    ['thing', { fields: 'x:string:1' }, /'string:1' is not a field type/],
    ['thing', {}, /Name at least one field/],
    ['thing', { fields: 'id' }, /The name 'id' is taken/],
    ['thing', { fields: 'first' }, /The name 'first' is taken/],
    ['thing', { fields: 'above' }, /The name 'above' is taken/],
    ['thing', { fields: 'constructor' }, /The name 'constructor' is taken/],
    ['thing', { fields: 'x,x' }, /The name 'x' is taken/],
    ['thing', { fields: 'user', 'belongs-to': 'user' }, /The name 'user' is taken/],
    ['thing', { fields: 'x:strin' }, /'strin' is not a field type: use one of string, integer, boolean/],
    ['thing', { fields: 'x-y' }, /'x-y' is not a field name/],
    ['thing', { fields: 'x', 'belongs-to': 'bar' }, /There is no bar: a parent is one of user, post/],
  ];
  for (const [name, given, message] of refused) t.throws(() => planOf(name, given), { message });
});

t.test('a table without an index needs no name in its file', t => {
  const table = (fields: string) => tableFile(planOf('thing', { fields }));
  t.match(table('amount:integer'), /\n {2}\(\) => \[/);
  t.match(table('amount:integer,title'), /\n {2}table => \[/);
  t.end();
});
