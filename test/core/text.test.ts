import t from 'tap';
import { printable, printableLines, suggestName } from '#src/core/text.ts';

const known = ['id', 'name', 'email', 'ownerId', 'createdAt'];

t.test('a misspelt name suggests the nearest known one', async t => {
  for (const [typed, meant] of [
    ['nam', 'name'],
    ['Name', 'name'],
    ['emial', 'email'],
    ['e-mail', 'email'],
    ['owner', 'ownerId'],
    ['owner_id', 'ownerId'],
    ['ID', 'id'],
    ['idd', 'id'],
  ] as const)
    t.equal(suggestName(typed, known), meant, typed);
});

t.test('a name unlike any known one suggests nothing', async t => {
  for (const typed of ['', 'x', 'password', 'toString', '__proto__', 'constructor', 'x'.repeat(1_000_000)])
    t.equal(suggestName(typed, known), undefined, typed.slice(0, 20));
  t.equal(suggestName('name', []), undefined);
});

t.test('printable text neither commands a terminal nor reorders a line', async t => {
  t.equal(printable('\x1b[2J\u0007ö\x9b31m\n'), '\ufffd[2J\ufffdö\ufffd31m\ufffd');
  t.equal(printableLines('a\x1b\nb'), 'a\ufffd\nb');
  t.equal(printable('eli\u202efdp.exe\u2066\u2028'), 'eli\ufffdfdp.exe\ufffd\ufffd');
  t.equal(printable('é 名 👩‍👩‍👧 עברית'), 'é 名 👩‍👩‍👧 עברית');
});
