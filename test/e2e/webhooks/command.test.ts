// runs: long
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { main } from '#scripts/webhook.ts';
import { presets } from '#src/config/presets.ts';
import { run } from '#test/helper/command.ts';
import { makeDataFolder, startService, until } from '#test/rig/process.ts';

const script = fileURLToPath(new URL('../../../scripts/webhook.ts', import.meta.url));

t.test('the command sends a signed event, and lists, shows and replays stored ones', async t => {
  const DATA_DIR = makeDataFolder(t);
  const service = await startService(t, { DATA_DIR, NODE_ENV: 'development' });
  const env = { DATA_DIR, PORT: String(service.port) };
  const command = async (...args: string[]) => {
    const { code, out, err } = await run(main, args, env);
    return { code, output: out + err };
  };

  const sent = await command('send', 'payment_intent.succeeded', '--customer', 'cus_7', '--id', 'evt_7');
  t.match(sent, {
    code: 0,
    output: /^200 OK {3}\(event evt_7, \d+ bytes\)\npayment_intent.succeeded is processed\n/,
  });
  t.match(JSON.parse(sent.output.slice(sent.output.indexOf('{'))), { customer: 'cus_7', status: 'active' });
  t.match((await command('send', 'charge.captured')).output, /charge.captured is ignored: No handler for/);

  const { output } = await command('list', '--type', 'payment_intent.succeeded');
  t.match(
    output,
    /processed {2}1 {2}stripe {2}evt_7 {2}payment_intent.succeeded {2}cus_7[\s\S]*\n1 shown, newest first/,
  );
  const [id = ''] = output.split('  ');
  for (const name of [id, 'evt_7'])
    t.match(JSON.parse((await command('show', name)).output), { id, body: { id: 'evt_7', object: 'event' } });
  t.match(await command('show', 'evt_8'), { code: 1, output: 'No event has the id evt_8.\n' });
  t.match(
    await command('replay', id),
    { code: 1, output: /^409 / },
    'an event that took effect is not replayed',
  );
  t.match(await command('replay', '--all', '--status', 'ignored'), {
    code: 0,
    output: '1 are processed again, 0 are left\n',
  });
  t.match(await command('send', '--provider', 'nobody'), {
    code: 1,
    output: /No secret is known for nobody/,
  });
  await service.kill('SIGTERM');
  t.match(await command('list'), { code: 1, output: /Is the service running\?/ });
});

t.test('the command sends an event of another provider, one from a file, and failing ones', async t => {
  const DATA_DIR = makeDataFolder(t);
  const WEBHOOK_SECRETS = JSON.stringify(
    Object.fromEntries(Object.keys(presets).map(name => [name, ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw']])),
  );
  const env = { NODE_ENV: 'development', DATA_DIR, WEBHOOK_SECRETS, WEBHOOK_RETRIES: '0' };
  const { port } = await startService(t, env);
  const send = (...args: string[]) => run(main, ['send', ...args], { ...env, PORT: String(port) });

  const named = ['customer.subscription.updated', '--status', 'unpaid', '--customer', 'cus_named'];
  t.match((await send(...named)).out, /"status": "unpaid"/);

  const file = fileURLToPath(
    new URL('../../../scripts/lib/webhook/bodies/paddle/subscription.json', import.meta.url),
  );
  const sent = ['--provider', 'paddle', '--file', file];
  t.match((await send(...sent)).out, /^200 OK {3}\(event evt_01kaja2x5n8q0g7wz3m4h6t9rv, /);
  t.match((await send(...sent)).out, /is processed, delivered 2 times/);
  const inHeaders = await send('orders/edited', '--provider', 'shopify', '--file', file, '--id', 'evt_9');
  t.match(
    inHeaders.out,
    /\(event evt_9, .*\norders\/edited is ignored/s,
    'these have type and id in headers',
  );

  const failing = await send('payment_intent.succeeded', '--fail', '1');
  t.match(failing.out, /is dead: Failed on request, attempt 1 of 1\./);
  const [, event = ''] = /event (\w+),/.exec(failing.out) ?? [];
  const command = (...args: string[]) => run(main, args, { ...env, PORT: String(port) });
  t.match((await command('replay', event)).out, /^received, replay 1/);
  const shown = async () => JSON.parse((await command('show', event)).out);
  await until('the replay succeeds', async () => (await shown()).status === 'processed');
  const other = /event (\w+),/.exec((await send('payment_intent.succeeded', '--fail', '9')).out)?.[1] ?? '';
  t.match(await command('dismiss', '--all', '--dry-run'), {
    code: 0,
    out: '1 events match: failed or dead\n',
  });
  t.match(await command('dismiss', other), { code: 0, out: 'dismissed\n' });
  t.match(await command('dismiss', '--all'), { code: 0, out: '0 are dismissed, 0 are left\n' });
  t.match(await send('subscription_paused', '--provider', 'lemonsqueezy', '--fail', '1'), {
    code: 1,
    err: /those of lemonsqueezy lack/,
  });
  const uuid = '72d3162e-cc78-41e3-81ab-4c9367dc0958';
  await send('ping', '--provider', 'github', '--id', uuid);
  t.match(JSON.parse((await command('show', uuid)).out), { eventId: uuid }, "GitHub's ids look like ours");
  for (const [args, err] of [
    [['send', 'payment_intent.succeeded', '--status', 'canceled'], /have no status to set/],
    [['send', 'charge.captured', '--fail', '1'], /--fail needs a handler/],
    [['send', '--file', file, '--customer', 'cus_1'], /--customer does not work with --file/],
    [['send', '--id', 'x'.repeat(65)], /--id must be at most 64 characters long/],
  ] as const)
    t.match(await command(...args), { code: 1, err }, args.join(' '));
});

t.test('the command listens: each event is printed when it comes and when its status changes', async t => {
  const DATA_DIR = makeDataFolder(t);
  const service = await startService(t, { DATA_DIR, WEBHOOK_RETRIES: '1', NODE_ENV: 'development' });
  const env = { DATA_DIR, PORT: String(service.port) };
  await run(main, ['send', 'charge.captured', '--id', 'evt_before'], env);
  const listener = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, 'listen'], {
    env,
  });
  t.teardown(() => listener.kill());
  let printed = '';
  listener.stdout.on('data', text => {
    printed += text;
  });
  await until('it listens', () => printed.startsWith('Waiting for events.'));
  await run(main, ['send', 'payment_intent.succeeded', '--id', 'evt', '--fail', '1'], env);
  const statuses = () =>
    [...printed.matchAll(/ {2}(\w+) {2}\d {2}stripe {2}evt_fail_1 /g)].map(([, status]) => status);
  await until('the retry is printed', () => statuses().includes('processed'));
  t.ok(statuses().includes('failed'));
  t.notMatch(printed, 'evt_before');
  await run(main, ['replay', 'evt_before'], env);
  await until('the replay is printed', () => printed.includes('ignored  1  stripe  evt_before'));
});

t.test('with AUTH_MODE=required the command says that it needs a key', async t => {
  const DATA_DIR = makeDataFolder(t);
  const service = await startService(t, { DATA_DIR, AUTH_MODE: 'required' });
  const env = { DATA_DIR, PORT: String(service.port), AUTH_MODE: 'required' };
  const { code, out, err } = await run(main, ['send'], env);
  t.match(out, /^200 OK/, 'the event needs no key, only its signature');
  t.match({ code, err }, { code: 1, err: /^401 .*Pass an API key by --key or API_KEY;.*\n$/ });
});
