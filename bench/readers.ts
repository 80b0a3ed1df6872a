import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';

/** Opens streams of changes, says `ready`, and counts the events until it is ended. */
const [url = '', amount = '1'] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
let events = 0;

for (let i = 0; i < Number(amount); i++) {
  const [response] = (await once(get(url, { agent }), 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
  response.setEncoding('latin1').on('data', (text: string) => {
    for (let at = text.indexOf('\ndata:'); at >= 0; at = text.indexOf('\ndata:', at + 1)) events++;
  });
}
console.log('ready');
process.on('SIGTERM', () => {
  console.log(events);
  process.exit();
});
