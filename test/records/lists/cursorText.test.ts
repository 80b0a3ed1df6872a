import t from 'tap';
import { makeCursor, readCursor } from '#src/records/lists/cursors.ts';

const id = '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90';

t.test('a cursor with any one character changed, missing or added is invalid', async t => {
  for (const cursor of [makeCursor('things', [id]), makeCursor('things', ['Title', id])]) {
    const wrong = ['', id, ` ${cursor}`, `${cursor}=`, `${cursor}A`, 'ä'.repeat(56), 'A'.repeat(56)];
    for (let i = 0; i < cursor.length; i++) {
      wrong.push(cursor.slice(0, i) + cursor.slice(i + 1));
      for (const character of 'Az0-_ +/=é')
        if (character !== cursor[i]) wrong.push(cursor.slice(0, i) + character + cursor.slice(i + 1));
    }
    t.same(
      wrong.filter(text => [1, 2].some(parts => readCursor('things', text, [parts]) !== undefined)),
      [],
    );
  }
});

t.test('a forged cursor without a valid id, or with other parts, is invalid', async t => {
  for (const place of [['x'], [id.toUpperCase()], [id, id], ['\0', id], [id, '']])
    t.equal(readCursor('things', makeCursor('things', place), [1]), undefined, JSON.stringify(place));
  t.equal(readCursor('things', makeCursor('things', [id]), [2]), undefined);
  t.equal(readCursor('things', makeCursor('things', ['a', 'b', id]), [2]), undefined);
});
