import t from 'tap';
import { changesTo } from '../../src/services/records.ts';

const stored = {
  id: '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90',
  name: '2026-01-01T00:00:00Z',
  version: 3,
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
};

t.test('only members that differ are changes', async t => {
  t.equal(changesTo(stored, {}), undefined);
  t.equal(changesTo(stored, stored), undefined);
  t.same(changesTo(stored, { ...stored, name: 'x' }), { name: 'x' });
});

t.test('read-only times are compared as times, everything else as text', async t => {
  t.equal(
    changesTo(stored, { createdAt: '2026-01-01T01:00:00+01:00', updatedAt: '2026-01-01T00:00:00Z' }),
    undefined,
  );
  t.same(changesTo(stored, { name: stored.createdAt }), { name: stored.createdAt });
});

t.test('every read-only member that differs is reported', async t => {
  for (const input of [{ id: 'x' }, { createdAt: '2027-01-01T00:00:00Z' }, { id: 'x', createdAt: 'never' }])
    try {
      changesTo(stored, { ...input, name: 'x' });
      t.fail('it is refused');
    } catch (error) {
      const { details } = error as { details: { path: string }[] };
      t.same(
        details.map(({ path }) => path),
        Object.keys(input).map(name => `/${name}`),
      );
    }
});
