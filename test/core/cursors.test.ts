import t from 'tap';
import { makeCursor, readCursor } from '../../src/core/pages.ts';

const id = '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90';
const cursor = makeCursor('posts', id);

t.test('a cursor is valid only for the list that made it', async t => {
  t.match(cursor, /^[\w-]{56}$/, 'it needs no escaping in a URL');
  t.equal(readCursor('posts', cursor), id);
  t.equal(readCursor('users', cursor), undefined);
});

t.test('a cursor with any one character changed, missing or added is invalid', async t => {
  const wrong = ['', id, ` ${cursor}`, `${cursor}=`, `${cursor}A`, 'ä'.repeat(56), 'A'.repeat(56)];
  for (let i = 0; i < cursor.length; i++) {
    wrong.push(cursor.slice(0, i) + cursor.slice(i + 1));
    for (const character of 'Az0-_ +/=é')
      if (character !== cursor[i]) wrong.push(cursor.slice(0, i) + character + cursor.slice(i + 1));
  }
  t.same(
    wrong.filter(text => readCursor('posts', text) !== undefined),
    [],
  );
});

t.test('a forged cursor without a valid id is invalid', async t => {
  t.equal(readCursor('posts', makeCursor('posts', 'x')), undefined);
  t.equal(readCursor('posts', makeCursor('posts', id.toUpperCase())), undefined);
});
