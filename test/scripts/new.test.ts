import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, globSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { type Description, makePlan, wordsOfService } from '#scripts/lib/resource/plan.ts';
import { command, copyProject } from '#test/docs/handbook.ts';
import { until } from '#test/rig/process.ts';

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

const folder = copyProject();
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
const files = () => {
  const paths = globSync(['*.*', '{docs,drizzle,plugins,schemas,src,test}/**/*.*'], { cwd: folder });
  return Object.fromEntries(paths.map(path => [path, readFileSync(join(folder, path), 'utf8')]));
};

t.test('what a step refuses is said in a sentence, and everything is as it was', async t => {
  // Work that is in no commit must stay, too.
  appendFileSync(join(folder, 'src/domain/resources.ts'), '// Begun.\n');
  const before = files();
  for (const [given, reason] of [
    [
      'resource --fields text',
      'The file src/domain/resources.ts already exists: choose another name or --plural.',
    ],
    ['class --fields text', 'export const class = '],
    [
      'thing --fields sort',
      "Error: 'sort' cannot be a filter of Thing: every list has a parameter of this name.",
    ],
    [
      "remark --belongs-to 'parent=remark?' --fields remarks",
      'Field "Remark.remarks" can only be defined once.',
    ],
    [
      'listTable --fields text',
      /The migration \d+_list_tables cannot be applied: relation "list_tables" already exists/,
    ],
  ] as const) {
    const { code, output } = await command(`npm run -s new -- ${given}`, folder);
    t.match({ code, output }, { code: 1, output: reason });
    t.notMatch(output, /\n +at /, 'without a stack');
    t.same(files(), before, given);
  }
});

t.test('Ctrl-C undoes what was begun', async t => {
  const before = files();
  // `detached` makes a group whose processes all get the signal, as in a terminal.
  const options = { cwd: folder, detached: true, stdio: ['ignore', 'ignore', 'pipe'] } as SpawnOptions;
  const child = spawn('npm', ['run', 'new', '--', 'thing', '--fields', 'text'], options);
  await until('a file is written', () => existsSync(join(folder, 'schemas/thing.ts')), 60);
  process.kill(-(child.pid ?? 0), 'SIGINT');
  const [[code], said] = await Promise.all([once(child, 'exit'), text(child.stderr as Readable)]);
  t.not(code, 0);
  t.match(said, 'Stopped by SIGINT.\nEverything is as it was.');
  t.same(files(), before);
});
