import t from 'tap';
import { type Description, makePlan, wordsOfService } from '#scripts/lib/resource/plan.ts';

t.test('npm run new names a resource in one and many, in tables, paths and types', async t => {
  t.match(
    makePlan('lineItem', {
      'belongs-to': 'owner=user,editor=user?',
      fields: 'label,dueAt:time?,onTop:boolean',
    }),
    {
      ...{
        plural: 'lineItems',
        table: 'line_items',
        path: 'line-items',
        title: 'LineItem',
        nouns: 'line items',
      },
      parents: [
        {
          name: 'owner',
          member: 'ownerId',
          column: 'owner_id',
          isOptional: false,
          children: 'lineItemsAsOwner',
        },
        {
          name: 'editor',
          member: 'editorId',
          column: 'editor_id',
          isOptional: true,
          children: 'lineItemsAsEditor',
        },
      ],
      fields: [
        { name: 'label', column: 'label', isOptional: false },
        { name: 'dueAt', words: 'due time', column: 'due_at', isOptional: true },
        { name: 'onTop', words: 'on top', column: 'on_top' },
      ],
    },
  );
  t.match(makePlan('text', { 'belongs-to': 'user', fields: 'x' }).parents, [{ children: 'texts' }]);
  for (const [name, plural] of [
    ['comment', 'comments'],
    ['category', 'categories'],
    ['day', 'days'],
    ['box', 'boxes'],
    ['branch', 'branches'],
  ])
    t.equal(makePlan(name, { fields: 'x' }).plural, plural);
  t.equal(makePlan('person', { fields: 'x', plural: 'people' }).plural, 'people');
});

t.test('it says which names are words of the service, too', async t => {
  const given = { 'belongs-to': 'customer=user', fields: 'event:date,mail:email,amount:cents' };
  t.match(wordsOfService(makePlan('order', given)), [
    /^The word customer also means a customer of/,
    /^The word event/,
  ]);
  t.same(wordsOfService(makePlan('constructor', { fields: 'mail:email:unique' })), []);
});

t.test('it refuses what it cannot make, in words', async t => {
  const refused: [string, Description, RegExp][] = [
    ['', { fields: 'x' }, /must be words such as note/],
    ['line_item', { fields: 'x' }, /must be words such as note/],
    ['thing', { fields: 'x', plural: '../things' }, /must be words such as note/],
    ['thing', {}, /Name at least one field, such as .*, or two parents/],
    ['thing', { 'belongs-to': 'user,editor=user?' }, /Parents that are joined cannot be optional/],
    ['thing', { 'belongs-to': 'user' }, /Name at least one field/],
    ['thing', { fields: 'x', private: true }, /--private needs --owner/],
    ['thing', { fields: 'x', owner: 'user' }, /--owner must be a user in --belongs-to/],
    ['thing', { fields: 'x', 'belongs-to': 'parent=thing?', owner: 'parent' }, /--owner must be a user/],
    ['thing', { fields: 'x', 'belongs-to': 'user?', owner: 'user' }, /who is always there/],
    ['sheep', { fields: 'x', plural: 'sheep' }, /The plural must differ from the name/],
    [
      'thing',
      { fields: 'x:strin' },
      /'strin' is not a field type: use one of string, text, integer, cents, email, .*json, or words/,
    ],
    ['thing', { fields: 'x:a|b-c' }, /'b-c' is no word of an enum/],
    ['thing', { fields: 'x:a|true' }, /'true' is no word of an enum/],
    ['thing', { fields: 'x:a|a' }, /A word is there twice in 'a\|a'/],
    ['thing', { fields: 'x:json:unique' }, /x cannot be unique: it is json/],
    ['thing', { fields: 'x:string:uniq' }, /behind the type there may be :unique/],
    ['thing', { fields: 'x-y' }, /'x-y' is not a name/],
    ['thing', { fields: 'x', 'belongs-to': 'bar' }, /There is no bar: a parent is one of user, .*thing/],
    [
      'thing',
      { fields: 'x', 'belongs-to': 'parent=thing' },
      /The first thing could have no parent: write parent=thing\?/,
    ],
  ];
  for (const [name, given, message] of refused)
    t.throws(() => makePlan(name, given), { message }, `${name} ${JSON.stringify(given)}`);
});
