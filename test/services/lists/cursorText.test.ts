import t from 'tap';
import { makeCursor, readCursor } from '../../../src/services/lists/cursors.ts';

const id = '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90';
const cursor = makeCursor('posts', [id]);
const longest = ['\u{10FFFF}'.repeat(500), id];

t.test('a cursor is valid only for the list that made it', async t => {
  t.match(cursor, /^[\w-]{56}$/, 'it needs no escaping in a URL');
  t.same(readCursor('posts', cursor, 1), [id]);
  t.equal(readCursor('users', cursor, 1), undefined);
});

t.test('a cursor holds sort values of any text and length', async t => {
  for (const value of ['', 'Title', '\ufeffx', '\u0001"\\', 'ä漢😀', longest[0] as string]) {
    const place = [value, id];
    t.same(readCursor('posts', makeCursor('posts', place), 2), place);
  }
  const text = makeCursor('posts', longest);
  t.match(text, /^[\w-]{2724}$/, 'it needs no escaping in a URL');
});

t.test('a cursor without a place is an end of the list', async t => {
  const end = makeCursor('posts', []);
  t.match(end, /^[\w-]{8}$/);
  t.same(readCursor('posts', end, 1), []);
  t.same(readCursor('posts', end, 2), []);
  t.equal(readCursor('users', end, 1), undefined);
});

t.test('a cursor with any one character changed, missing or added is invalid', async t => {
  for (const cursor of [makeCursor('posts', [id]), makeCursor('posts', ['Title', id])]) {
    const wrong = ['', id, ` ${cursor}`, `${cursor}=`, `${cursor}A`, 'ä'.repeat(56), 'A'.repeat(56)];
    for (let i = 0; i < cursor.length; i++) {
      wrong.push(cursor.slice(0, i) + cursor.slice(i + 1));
      for (const character of 'Az0-_ +/=é')
        if (character !== cursor[i]) wrong.push(cursor.slice(0, i) + character + cursor.slice(i + 1));
    }
    t.same(
      wrong.filter(text => [1, 2].some(parts => readCursor('posts', text, parts) !== undefined)),
      [],
    );
  }
});

t.test('a forged cursor without a valid id, or with other parts, is invalid', async t => {
  for (const place of [['x'], [id.toUpperCase()], [id, id], ['\0', id], [id, '']])
    t.equal(readCursor('posts', makeCursor('posts', place), 1), undefined, JSON.stringify(place));
  t.equal(readCursor('posts', makeCursor('posts', [id]), 2), undefined);
  t.equal(readCursor('posts', makeCursor('posts', ['a', 'b', id]), 2), undefined);
});
