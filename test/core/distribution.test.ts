import { Histogram, Registry } from 'prom-client';
import t from 'tap';
import { Distribution } from '../../src/core/distribution.ts';

t.test('a distribution says the same as that of prom-client', async t => {
  const registry = new Registry();
  const [name, help, bounds, labels] = [
    'taken_seconds',
    'What it took.',
    [0.001, 0.5, 2.5],
    ['route', 'status'],
  ];
  const theirs = new Histogram({ name, help, labelNames: labels, buckets: bounds, registers: [registry] });
  const ours = new Distribution({ name, help, labels, bounds });
  t.equal(ours.text, await registry.metrics(), 'nothing yet');
  const values: [number, string, number][] = [
    [0.5, '/a', 200],
    [0.5001, '/a', 200],
    [0, '/b', 200],
    [7, '/a', 503],
    [2.5, '/a', 200],
  ];
  for (const [value, route, status] of values) {
    theirs.observe({ route, status }, value);
    ours.observe(value, route, status);
  }
  t.equal(ours.text, await registry.metrics());
  t.match(
    ours.text,
    'taken_seconds_bucket{le="0.5",route="/a",status="200"} 1\n',
    'a bound belongs to its bucket',
  );
});
