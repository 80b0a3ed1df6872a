import { appendFileSync, globSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { filesOf, withResource } from '../../scripts/lib/resource/files.ts';
import { refuseTakenNames } from '../../scripts/lib/resource/names.ts';
import { type Description, planOf } from '../../scripts/lib/resource/plan.ts';
import { command, copyProject, succeeds } from '../docs/handbook.ts';

t.test('npm run new names a resource in one and many, in tables, paths and types', async t => {
  t.match(
    planOf('lineItem', { 'belongs-to': 'post,editor=user?', fields: 'title,dueAt:time?,onTop:boolean' }),
    {
      ...{
        plural: 'lineItems',
        table: 'line_items',
        path: 'line-items',
        title: 'LineItem',
        nouns: 'line items',
      },
      parents: [
        { name: 'post', member: 'postId', column: 'post_id', isOptional: false, children: 'lineItems' },
        { name: 'editor', member: 'editorId', column: 'editor_id', isOptional: true, children: 'lineItems' },
      ],
      fields: [
        { name: 'title', column: 'title', isOptional: false },
        { name: 'dueAt', words: 'due time', column: 'due_at', isOptional: true },
        { name: 'onTop', words: 'on top', column: 'on_top' },
      ],
    },
  );
  t.match(planOf('text', { 'belongs-to': 'author=user,editor=user' }).parents, [
    { children: 'textsAsAuthor' },
    { children: 'textsAsEditor' },
  ]);
  for (const [name, plural] of [
    ['comment', 'comments'],
    ['category', 'categories'],
    ['day', 'days'],
    ['box', 'boxes'],
    ['branch', 'branches'],
  ])
    t.equal(planOf(name, { fields: 'x' }).plural, plural);
  t.equal(planOf('person', { fields: 'x', plural: 'people' }).plural, 'people');
});

t.test('it refuses what it cannot make, in words', async t => {
  const refused: [string, Description, RegExp][] = [
    ['', { fields: 'x' }, /must be words such as comment/],
    ['line_item', { fields: 'x' }, /must be words such as comment/],
    ['thing', { fields: 'x', plural: '../things' }, /must be words such as comment/],
    ['thing', {}, /Name at least one field, such as .*, or two parents/],
    ['thing', { 'belongs-to': 'user,post?' }, /Parents that are joined cannot be optional/],
    ['thing', { 'belongs-to': 'user' }, /Name at least one field/],
    ['thing', { fields: 'x', private: true }, /--private needs --owner/],
    ['thing', { fields: 'x', owner: 'user' }, /--owner must be a user in --belongs-to/],
    ['thing', { fields: 'x', 'belongs-to': 'post', owner: 'post' }, /--owner must be a user/],
    ['thing', { fields: 'x', 'belongs-to': 'user?', owner: 'user' }, /who is always there/],
    ['post', { fields: 'x' }, /The file schemas\/post.ts already exists/],
    ['record', { fields: 'x' }, /The file src\/services\/records.ts already exists/],
    ['sheep', { fields: 'x', plural: 'sheep' }, /The plural must differ from the name/],
    ['class', { fields: 'x' }, /The word 'class' has another meaning in schemas\/class.ts/],
    ['await', { fields: 'x' }, /The word 'await' has another meaning/],
    ['pgView', { fields: 'x' }, /Names of tables that begin with pg_/],
    ['constructor', { fields: 'x' }, /The word 'constructor' has another meaning/],
    ['resource', { fields: 'x' }, /The word 'resources' has another meaning in src\/resources.ts/],
    ['globalThis', { fields: 'x' }, /The word 'globalThis' has another meaning/],
    ['thing', { fields: 'null' }, /The member 'null' is taken/],
    ['thing', { fields: 'then' }, /The member 'then' is taken/],
    ['text', { fields: 'x' }, /The word 'text' has another meaning in schemas\/text.ts/],
    ['float', { fields: 'x' }, /The type 'Float' is taken/],
    ['key', { fields: 'x' }, /The path 'keys' is taken/],
    ['webhookBacklog', { fields: 'x' }, /The operation 'getWebhookBacklog' is taken/],
    ['listTable', { fields: 'x' }, /The table 'list_tables' is taken/],
    ['thing', { fields: 'version:integer' }, /The member 'version' is taken/],
    ['thing', { fields: 'createdSince' }, /The member 'createdSince' is taken/],
    ['thing', { fields: 'first' }, /The member 'first' is taken/],
    ['thing', { fields: 'x,x' }, /The member 'x' is taken/],
    ['thing', { fields: 'userId', 'belongs-to': 'user' }, /The member 'userId' is taken/],
    ['thing', { 'belongs-to': 'user,user' }, /The member 'user' is taken/],
    ['thing', { fields: 'constructor' }, /The member 'constructor' cannot be/],
    ['thing', { fields: 'getSQL' }, /The member 'getSQL' cannot be/],
    ['thing', { fields: 'sort:a|b' }, /The member 'sort' is taken/],
    ['thing', { fields: 'edge:a|b' }, /The type 'ThingEdge' is taken/],
    [
      'thing',
      { fields: 'x:strin' },
      /'strin' is not a field type: use one of string, text, integer, .*json, or words/,
    ],
    ['thing', { fields: 'x:a|b-c' }, /'b-c' is no word of an enum/],
    ['thing', { fields: 'x:a|true' }, /'true' is no word of an enum/],
    ['thing', { fields: 'x:a|a' }, /A word is there twice in 'a\|a'/],
    ['thing', { fields: 'x:json:unique' }, /x cannot be unique: it is json/],
    ['thing', { fields: 'x:string:uniq' }, /behind the type there may be :unique/],
    ['thing', { fields: 'x-y' }, /'x-y' is not a name/],
    ['thing', { fields: 'x', 'belongs-to': 'bar' }, /There is no bar: a parent is one of user, post, thing/],
    [
      'thing',
      { fields: 'x', 'belongs-to': 'parent=thing' },
      /The first thing could have no parent: write parent=thing\?/,
    ],
    [
      'organisationMembership',
      { 'belongs-to': 'organisationAccountOfThis=user,subscriptionContractOfThat=post' },
      /The names are too long/,
    ],
    ['thing', { fields: 'x'.repeat(60) }, /The names are too long/],
  ];
  for (const [name, given, message] of refused)
    t.throws(
      () => {
        const plan = planOf(name, given);
        refuseTakenNames(plan, filesOf(plan), withResource(plan, readFileSync('src/resources.ts', 'utf8')));
      },
      { message },
      `${name} ${JSON.stringify(given)}`,
    );
});

t.test(
  'what the composition or the generator refuses is said in a sentence, and everything is as it was',
  async t => {
    const folder = copyProject();
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    // Work that is in no commit stays, too.
    appendFileSync(join(folder, 'src/resources.ts'), '// Begun.\n');
    const files = () => {
      const paths = globSync(['*.*', '{docs,drizzle,plugins,schemas,src,test}/**/*.*'], { cwd: folder });
      return Object.fromEntries(paths.map(path => [path, readFileSync(join(folder, path), 'utf8')]));
    };
    const before = files();
    for (const [given, reason] of [
      [
        'note --belongs-to resource=user --fields text',
        "'resource' cannot be the name of a relation or filter",
      ],
      ['action --fields text', "'action' cannot be the name of a resource: it is a member of every change."],
      [
        "remark --belongs-to 'parent=remark?' --fields remarks",
        'Field "Remark.remarks" can only be defined once.',
      ],
    ]) {
      const { code, output } = await command(`npm run -s new -- ${given}`, folder);
      t.match({ code, output }, { code: 1, output: reason });
      t.notMatch(output, / at .*:\d+/, 'without a stack');
      t.same(files(), before);
    }
    for (const given of [
      'event --belongs-to customer=user,key=user --fields resource',
      'customer --fields key',
    ])
      await succeeds(t, `npm run -s new -- ${given}`, folder);
  },
);
