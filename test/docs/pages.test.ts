import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { build } from '#test/helper/app.ts';

const { app, call } = await build(t, { settings: { AUTH_MODE: 'required' } });
const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

for (const url of ['/', '/docs', '/api/graphql', '/console'])
  t.test(`${url} is for everybody, and all of it is from this server, under a strict policy`, async t => {
    const page = await call('GET', url, 200, { headers });
    t.match(page.headers, { 'content-type': 'text/html; charset=utf-8', vary: 'accept' });
    t.notMatch(page.text, /(src|href)="https?:|<style|style="|\son\w+=|{{/);
    const policy = page.headers['content-security-policy'] ?? '';
    t.match(policy, "default-src 'none'; script-src 'self'; style-src 'self'");
    t.notMatch(policy, /https?:|\*|unsafe-eval|script-src[^;]*unsafe/);

    const paths = [...page.text.matchAll(/(?:src|href)="(\/[^"]+\.\w+)"/g)].map(([, path = '']) => path);
    const names = paths.map(path => path.split('/').at(-1));
    t.ok(names.includes('theme.css') && names.length > 4, `${names}`);
    let bytes = page.text.length;
    for (const path of paths) {
      const get = (url: string, encodings: string) =>
        app.inject({ url, headers: { 'accept-encoding': encodings } });
      const zipped = await get(path, 'gzip, br');
      t.equal(zipped.statusCode, 200, path);
      t.match(zipped.headers, {
        'content-encoding': 'gzip',
        'content-type': path.endsWith('.css') ? /css/ : /javascript/,
        'cache-control': 'public, max-age=31536000, immutable',
      });
      const text = String(gunzipSync(zipped.rawPayload));
      bytes += text.length;
      const isOurs = page.text.includes(`<script type="module" src="${path}"`);
      for (const [, name] of isOurs ? text.matchAll(/from '\.\/([\w.]+)'/g) : [])
        t.ok(names.includes(name), `${path} imports ${name}, which the page names: all are loaded at once`);
      const plain = await get(path.replace(/\/\w+\/([\w.-]+)$/, '/of-another-release/$1'), 'gzip;q=0, br');
      t.equal(plain.body, text);
      t.equal(plain.headers['content-encoding'], undefined);
      t.match(plain.headers, { 'cache-control': 'no-cache', vary: 'accept-encoding' });
    }
    if (url === '/console') t.ok(bytes < 150_000, `${bytes}`);
  });
