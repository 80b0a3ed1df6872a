// runs: on embedded
import t from 'tap';
import { missing, runBlocks } from '#test/docs/handbook.ts';
import { buildReceiver, secret } from '#test/helper/events/webhooks.ts';

const skip = missing.length > 0 && `not installed: ${missing}`;

t.test('the commands of README.md print what the page shows', { skip }, async t => {
  const { app } = await buildReceiver(t);
  const origin = await app.listen({ port: 0, host: '127.0.0.1' });
  const WEBHOOK_SECRETS = JSON.stringify({ stripe: [secret] });
  await runBlocks(t, 'README.md', origin, { variables: { WEBHOOK_SECRETS } });
});
