import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { build } from '../helper/app.ts';

const { app, call } = await build(t, { settings: { AUTH_MODE: 'required' } });
const { text: page, headers } = await call('GET', '/console', 200);
const linked = [...page.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, path = '']) => path);

/** The files of the page, with the modules that they import. */
async function load(path: string, files = new Map<string, Buffer>()) {
  if (files.has(path)) return files;
  const reply = await app.inject({ url: path, headers: { 'accept-encoding': 'gzip' } });
  t.match(
    reply,
    { statusCode: 200, headers: { 'cache-control': 'public, max-age=31536000, immutable' } },
    path,
  );
  files.set(path, reply.rawPayload);
  const imports = gunzipSync(reply.rawPayload)
    .toString()
    .matchAll(/from '\.\/([\w.]+)'/g);
  for (const [, name] of imports) await load(path.replace(/[^/]+$/, String(name)), files);
  return files;
}

t.test('the console is a page without data, for everybody, and all of it is from this server', async t => {
  t.equal(headers['content-type'], 'text/html; charset=utf-8');
  const policy = headers['content-security-policy'] ?? '';
  t.match(policy, "default-src 'none'; script-src 'self'; style-src 'self';");
  t.notMatch(policy, /https?:|unsafe/);
  t.notMatch(page, /https?:|<style|style="|\son\w+=|{{/);
  t.ok(linked.length > 10, 'the modules too: they are loaded at once');
});

t.test('it takes less than 60 kB, uncompressed too', async t => {
  const files = new Map<string, Buffer>();
  for (const path of linked) await load(path, files);
  t.equal(files.size, linked.length, 'modules import only those that the page names');
  const sum = (sizes: number[]) => sizes.reduce((total, size) => total + size, page.length);
  const sent = sum([...files.values()].map(file => file.length));
  const plain = sum([...files.values()].map(file => gunzipSync(file).length));
  t.comment(`${sent} bytes are sent, for ${plain}`);
  t.ok(plain < 60_000, `${plain}`);
});
