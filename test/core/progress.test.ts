import t from 'tap';
import { inWords, reportOn, terminalLine, timeLeft } from '#src/core/progress.ts';

t.test('a bar shows the share that is done, and never a whole that is not', async t => {
  t.equal(terminalLine('62 of 100', 0.62, 80), '████████████░░░░░░░░ 62 %  62 of 100');
  t.equal(terminalLine('0 of 100', 0, 80), '░░░░░░░░░░░░░░░░░░░░ 0 %  0 of 100');
  t.equal(terminalLine('999 of 1000', 0.999, 80), '███████████████████░ 99 %  999 of 1000');
  t.equal(terminalLine('100 of 100', 1, 80), '████████████████████ 100 %  100 of 100');
  t.equal(terminalLine('Opening', undefined, 80), 'Opening');
});

t.test('a line never wraps: the bar gets shorter, then it goes, then the text is cut', async t => {
  const longest = '12,240,000 of 22,000,000 records, about 119 s left';
  t.match(terminalLine(longest, 0.55, 80), new RegExp(`^█{11}░{9} 55 %  ${longest}$`));
  t.equal(terminalLine('62 of 100', 0.62, 26), '█████░░░░ 62 %  62 of 100');
  t.equal(terminalLine('62 of 100', 0.62, 20), '62 %  62 of 100');
  t.equal(terminalLine('62 of 100', 0.62, 12), '62 %  62 o…');
  for (let columns = 2; columns < 100; columns++)
    t.ok(terminalLine(longest, 0.55, columns).length < columns, `${columns} columns`);
});

t.test('a time left is told once it can be estimated', async t => {
  t.equal(timeLeft(0.2, 10_000), ', about 40 s left');
  t.equal(timeLeft(0.5, 600_000), ', about 10 min left');
  for (const [share, milliseconds] of [
    [0.04, 60_000],
    [0.5, 2000],
    [1, 60_000],
  ] as const)
    t.equal(timeLeft(share, milliseconds), '', `${share}, ${milliseconds}`);
  t.same([0, 1.9, 119.9, 120, 3601].map(inWords), ['0 s', '1 s', '119 s', '2 min', '60 min']);
});

t.test('a terminal shows each text in the same line, and clears it once', async t => {
  const written: string[] = [];
  const report = reportOn({ columns: 30, write: text => written.push(text) }, true);
  report('');
  report('Opening');
  report('1 of 2', 0.5);
  report('');
  report('');
  t.same(written, ['\r\x1b[KOpening\r', '\r\x1b[K████████░░░░░░░░ 50 %  1 of 2\r', '\r\x1b[K']);
});

t.test('elsewhere there is a line each ten seconds, and none of work that takes less', async t => {
  const written: string[] = [];
  let seconds = 0;
  const report = reportOn({ write: text => written.push(text) }, false, 10_000, () => seconds * 1000);
  const work = (from: number, until: number) => {
    for (seconds = from; seconds < until; seconds++) report(`${seconds} of 35`, seconds / 35);
  };
  work(0, 35);
  t.same(written.splice(0), ['28 %, 10 of 35\n', '57 %, 20 of 35\n', '85 %, 30 of 35\n']);
  for (const from of [100, 109, 118]) {
    report('');
    work(from, from + 9);
  }
  t.same(written, [], 'the next work begins when the text was cleared');
});
