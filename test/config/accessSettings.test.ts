import t from 'tap';
import { readSettings } from '../../src/config/settings.ts';

const jwks = {
  AUTH_MODE: 'required',
  AUTH_JWKS_URL: 'https://issuer.example/jwks',
  AUTH_ISSUER: 'https://issuer.example',
  AUTH_AUDIENCE: 'triport',
};

t.test('production does not start until AUTH_MODE is chosen', async t => {
  t.throws(() => readSettings({ NODE_ENV: 'production' }), /AUTH_MODE must be set/);
  t.equal(readSettings({ NODE_ENV: 'production', AUTH_MODE: 'required' }).AUTH_MODE, 'required');
  t.throws(() => readSettings({ AUTH_MODE: 'requierd' }), /AUTH_MODE must be one of "open", "required"/);
});

t.test('access settings that contradict each other stop the start', async t => {
  t.equal(readSettings(jwks).AUTH_AUDIENCE, 'triport');
  const { AUTH_JWKS_URL } = jwks;
  t.throws(
    () => readSettings({ AUTH_MODE: 'required', AUTH_JWKS_URL }),
    /AUTH_ISSUER must[\s\S]*AUTH_AUDIENCE must/,
  );
  t.throws(() => readSettings({ ...jwks, AUTH_MODE: 'open' }), /no effect unless AUTH_MODE is `required`/);
  t.throws(() => readSettings({ AUTH_ISSUER: 'x' }), /AUTH_ISSUER has no effect without AUTH_JWKS_URL/);
  t.throws(() => readSettings({ ...jwks, AUTH_JWKS_URL: 'http://issuer.example/jwks' }), /must be https/);
  t.throws(() => readSettings({ ...jwks, AUTH_JWKS_URL: 'http://localhost.evil.example/' }), /must be https/);
  t.throws(() => readSettings({ ...jwks, AUTH_JWKS_URL: 'https://' }), /must be a URL/);
  t.throws(
    () => readSettings({ ...jwks, AUTH_JWKS_URL: 'https://a:b@issuer.example/' }),
    /no user and no password/,
  );
  t.ok(readSettings({ ...jwks, AUTH_JWKS_URL: 'http://127.0.0.1:9/jwks' }));
});

t.test('CORS_ORIGINS lists origins, or is * alone', async t => {
  t.ok(readSettings({ CORS_ORIGINS: 'https://a.example, http://localhost:5173' }));
  t.ok(readSettings({ CORS_ORIGINS: '*' }));
  for (const wrong of ['https://a.example/', 'a.example', 'null', 'https://*.example.com', 'ftp://a.example'])
    t.throws(() => readSettings({ CORS_ORIGINS: wrong }), /is no origin/, wrong);
  t.throws(() => readSettings({ CORS_ORIGINS: '*,https://a.example' }), /not both/);
});
