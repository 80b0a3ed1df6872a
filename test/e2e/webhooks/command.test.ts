import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { makeDataFolder, runCommand, startService } from '../../rig/process.ts';

const script = fileURLToPath(new URL('../../../scripts/webhook.ts', import.meta.url));

t.test('the command sends a signed event, and lists, shows and replays stored ones', async t => {
  const DATA_DIR = makeDataFolder(t);
  const service = await startService(t, { DATA_DIR });
  const env = { PATH: process.env.PATH, DATA_DIR, PORT: String(service.port) };
  const command = (...args: string[]) =>
    new Promise<{ code: number; output: string }>(resolve => {
      const options = { cwd: tmpdir(), env };
      const argv = ['--disable-warning=ExperimentalWarning', script, ...args];
      execFile(process.execPath, argv, options, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
      );
    });

  const sent = await command('send', 'payment_intent.succeeded', '--customer', 'cus_7', '--id', 'evt_7');
  t.match(sent, {
    code: 0,
    output: /^200 OK {3}\(event evt_7, \d+ bytes\)\npayment_intent.succeeded is processed\n/,
  });
  t.match(JSON.parse(sent.output.slice(sent.output.indexOf('{'))), { customer: 'cus_7', status: 'active' });
  t.match((await command('send', 'charge.captured')).output, /charge.captured is ignored/);

  const { output } = await command('list', '--type', 'payment_intent.succeeded');
  t.match(output, /processed {2}1 {2}payment_intent.succeeded {2}cus_7[\s\S]*\n1 shown, newest first/);
  const [id = ''] = output.split('  ');
  t.match(JSON.parse((await command('show', id)).output), { id, eventId: 'evt_7' });
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

t.test('with AUTH_MODE=required the command says that it needs a key', async t => {
  const DATA_DIR = makeDataFolder(t);
  const service = await startService(t, { DATA_DIR, AUTH_MODE: 'required' });
  const env = { DATA_DIR, PORT: String(service.port), AUTH_MODE: 'required' };
  const { code, out, err } = await runCommand('scripts/webhook.ts', ['send'], env);
  t.match(out, /^200 OK/, 'the event needs no key, only its signature');
  t.match(
    { code, err },
    { code: 1, err: /^401 .*Pass an API key with the scope admin by --key or API_KEY\..*\n$/ },
  );
});
