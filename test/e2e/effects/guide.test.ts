// runs: long, patient
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import t, { type Test } from 'tap';
import { blocksOf, copyProject, missing, runBlocks, succeeds, walk } from '#test/docs/handbook.ts';
import { serve } from '#test/helper/servers/serve.ts';
import { startService, until } from '#test/rig/process.ts';

const page = 'docs/effects.md';
const tried = '6. Try it';
const folder = copyProject();
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
const tests = { embedded: new Set<string>(), postgres: new Set<string>() };

/** Opens a mail server that keeps what it gets. */
async function openMailServer(t: Test) {
  const mails: { to: string[]; text: string }[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    async onData(stream, { envelope }, done) {
      mails.push({ to: envelope.rcptTo.map(({ address }) => address), text: await text(stream) });
      done();
    },
  });
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  t.teardown(() => new Promise<void>(resolve => server.close(resolve)));
  return { mails, url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}` };
}

t.test(`the steps of ${page} add effects, which reach a mail server, a service and a record`, async t => {
  const steps = blocksOf(page).filter(
    ({ text }) => !blocksOf(page, tried).some(block => block.text === text),
  );
  t.ok(steps.length > 6, 'there are steps');
  await walk(t, steps, folder, tests);
  if (missing.length > 0) return t.comment(`not installed: ${missing}`);
  const { mails, url: SMTP_URL } = await openMailServer(t);
  const contacts: { key: unknown; body: { email: string } }[] = [];
  const { url: CRM_URL } = await serve(t, async (request, response) => {
    contacts.push({ key: request.headers['idempotency-key'], body: JSON.parse(await text(request)) });
    response.writeHead(201).end();
  });
  const script = join(folder, 'src/main.ts');
  const env = { DATA_DIR: join(folder, 'data'), SMTP_URL, CRM_URL };
  const { url } = await startService(t, env, { script });
  await runBlocks(t, page, url, { heading: tried, folder });
  await until('the mail has come', () => mails.length > 0);
  t.match(mails, [{ to: ['ada@example.org'], text: /Subject: Invoice 2026-1 is paid/ }]);
  t.match(contacts, [{ key: /^[0-9a-f-]{36}$/, body: { email: 'ada@example.org' } }]);
});

t.test('what the page adds passes its tests and the checks', async t => {
  for (const line of ['npm run format', 'npm run generate']) await succeeds(t, line, folder);
  const line = `npm test -- embedded ${[...tests.embedded].join(' ')}`;
  await Promise.all(['npm run check', line].map(line => succeeds(t, line, folder)));
});
