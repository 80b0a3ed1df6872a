import { readFileSync, statSync } from 'node:fs';
import t from 'tap';
import { readProviders } from '#src/config/providers.ts';
import { keptSecrets, withKeptSecrets } from '#src/config/secrets.ts';
import { readSettings } from '#src/config/settings.ts';

t.test('the embedded database has a random secret, created once and readable only by its owner', async t => {
  const DATA_DIR = t.testdir();
  const first = withKeptSecrets(readSettings({ DATA_DIR }));
  t.match(first.WEBHOOK_SECRETS, /^\{"stripe":\["whsec_[\w-]{43}"\]\}$/);
  t.equal(statSync(`${DATA_DIR}/webhook-secrets.json`).mode & 0o777, 0o600);
  t.equal(withKeptSecrets(readSettings({ DATA_DIR })).WEBHOOK_SECRETS, first.WEBHOOK_SECRETS);
  t.equal(keptSecrets(DATA_DIR), first.WEBHOOK_SECRETS);
  const other = `${t.testdir({})}/new`;
  t.not(withKeptSecrets(readSettings({ DATA_DIR: other })).WEBHOOK_SECRETS, first.WEBHOOK_SECRETS);
  t.equal(statSync(other).mode & 0o777, 0o700);
});

t.test('no secret is generated for a PostgreSQL server, or where secrets are set', async t => {
  const DATA_DIR = t.testdir();
  const given = readSettings({ DATA_DIR, DATABASE_URL: 'postgres://localhost/x' });
  t.equal(withKeptSecrets(given).WEBHOOK_SECRETS, undefined);
  const own = readSettings({ DATA_DIR, WEBHOOK_SECRETS: '{"acme":["s3cret_s"]}' });
  t.equal(withKeptSecrets(own).WEBHOOK_SECRETS, '{"acme":["s3cret_s"]}');
  t.throws(() => readFileSync(`${DATA_DIR}/webhook-secrets.json`), { code: 'ENOENT' });
});

t.test('secrets that are no JSON object stop the start', async t => {
  const start = () => readSettings({ WEBHOOK_SECRETS: 'whsec_x' });
  t.throws(start, { message: /WEBHOOK_SECRETS: must be a JSON object(?!.*whsec_x)/ });
});

t.test('a Standard Webhooks secret that is not base64 stops the start: it would be an empty key', async t => {
  const given = (secret: string) => () =>
    readSettings({ WEBHOOK_SECRETS: JSON.stringify({ acme: { scheme: 'standard', secrets: [secret] } }) });
  for (const bad of ['whsec_c2hvcnQ=', 'not-base64-at-all,however-long-it-may-be'])
    t.throws(given(bad), { message: /acme\/secrets must be base64 of at least 16 bytes/ }, bad);
  for (const good of ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'MfKQ9r8GKYqrTwjUPD8ILA=='])
    t.doesNotThrow(given(good), good);
});

t.test('a wrong source of an id is one clear problem', async t => {
  const problemsOf = (id: unknown) =>
    readProviders(JSON.stringify({ acme: { id, secrets: ['s3cret_s'] } })).problems;
  const noSource =
    /^WEBHOOK_SECRETS: acme\/id(\/1)? must be a path such as `data.object.customer`, or `header:`/;
  for (const id of ['a..b', 'header:X-Id', 'header:content-type', ['a', 'header:X-Id']])
    t.match(problemsOf(id), [noSource], String(id));
  t.same(problemsOf([]), ['WEBHOOK_SECRETS: acme/id must have 1 or more items']);
  t.same(problemsOf(5), ['WEBHOOK_SECRETS: acme/id must be a string or an array']);
  t.same(problemsOf(['data.id', 'header:x-id']), []);
});

t.test('a secret in the place of a name is not repeated', async t => {
  const { problems } = readProviders('{"whsec_topsecret":"stripe"}');
  t.same(problems, ['WEBHOOK_SECRETS: entry 1 must be a list of secrets, or an object']);
  for (const swapped of ['5e'.repeat(32), 'whsec_TopSecret'])
    t.notMatch(readProviders(JSON.stringify({ [swapped]: ['stripe'] })).problems.join(), swapped);
});

t.test('bug: a placeholder that was copied from an example was a secret that everybody knew', async t => {
  const problemsOf = (secret: string, entry: object = [secret]) => {
    const WEBHOOK_SECRETS = JSON.stringify({ paddle: ['pdl_ntfset_01'], acme: entry });
    const env = { NODE_ENV: 'production', AUTH_MODE: 'required', WEBHOOK_SECRETS };
    t.throws(() => readSettings(env), { message: 'acme/secrets/' }, secret);
    return readProviders(WEBHOOK_SECRETS).problems;
  };
  const rule = 'must be 8 or more visible ASCII characters, and no placeholder';
  for (const bad of [
    'whsec_…',
    ' ',
    `\${STRIPE_SECRET}`,
    '<your secret>',
    '<secret>',
    `whsec_\${ID}0123456789`,
    'short_7',
  ])
    t.same(problemsOf(bad), [`WEBHOOK_SECRETS: acme/secrets/0 ${rule}`], bad);
  for (const bad of ['with a space', 'tab\tinside', 'line\nbreak', 'ключ_ключ_ключ', 'pass\u0007word'])
    t.same(problemsOf(bad, { scheme: 'hex', secrets: ['0123abcd', bad] }).length, 1, bad);
  for (const good of ['8_chars_', '5e'.repeat(32), 'a$b{c}d>e!~', 'pdl_ntfset_01h/+='])
    t.same(readProviders(JSON.stringify({ acme: [good] })).problems, [], good);
});

t.test('bug: a damaged file of kept secrets turned all webhooks off, and nobody knew', async t => {
  for (const damaged of ['', 'garbage{', '{"stripe":["a"],"paddle":"pdl_secret"}']) {
    const DATA_DIR = t.testdir({ 'webhook-secrets.json': damaged });
    const message = /webhook-secrets\.json is damaged: WEBHOOK_SECRETS: (?!.*pdl_secret)/;
    t.throws(() => withKeptSecrets(readSettings({ DATA_DIR })), { message }, damaged);
  }
});
