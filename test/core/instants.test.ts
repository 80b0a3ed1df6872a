import t from 'tap';
import { readBound, readInstant } from '#src/core/instants.ts';

// Bug: .0005 was cut to .000, so "since .0005" included records that were created before it.
t.test('a bound finer than a millisecond is rounded up, so that nothing earlier is included', async t => {
  for (const [text, bound] of [
    ['2026-11-21T09:30:00.000Z', '2026-11-21T09:30:00.000Z'],
    ['2026-11-21T09:30:00.0000Z', '2026-11-21T09:30:00.000Z'],
    ['2026-11-21T09:30:00.0005Z', '2026-11-21T09:30:00.001Z'],
    ['2026-11-21T09:30:00.0000001Z', '2026-11-21T09:30:00.001Z'],
    ['2026-11-21T09:30:00.9999Z', '2026-11-21T09:30:01.000Z'],
    ['2026-11-21T09:30:00.5Z', '2026-11-21T09:30:00.500Z'],
    ['2026-11-21T09:30:00.0010002+01:00', '2026-11-21T08:30:00.002Z'],
    ['2026-11-21t09:30:00.0005z', '2026-11-21T09:30:00.001Z'],
    ['2026-11-21T09:30:00Z', '2026-11-21T09:30:00.000Z'],
  ] as const)
    t.equal(readBound(text)?.toISOString(), bound, text);
  t.equal(readInstant('2026-11-21T09:30:00.0005Z'), '2026-11-21T09:30:00.000Z', 'a stored time is truncated');
});

// Bug: "0049-01-01 00:00:00Z" was read as 2049.
t.test('a time is the same with a space between date and time', async t => {
  for (const date of ['0012-01-01', '0049-01-01', '0069-06-01', '2026-11-23'])
    for (const separator of ['T', 't', ' ', '\t'])
      t.equal(readInstant(`${date}${separator}09:30:00.5Z`), `${date}T09:30:00.500Z`);
});

t.test('a time outside the years that the database can hold is invalid', async t => {
  for (const text of ['0000-01-01T00:00:00Z', '9999-12-31T23:59:59-14:00', 'never']) {
    t.equal(readBound(text), undefined, text);
    t.equal(readInstant(text), undefined, text);
  }
});
