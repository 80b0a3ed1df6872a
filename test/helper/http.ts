import { type AddressInfo, connect } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Sends raw bytes to an application, and returns its answers until the connection closes or is idle. */
export async function exchange(app: FastifyInstance, ...parts: (string | Buffer)[]): Promise<string> {
  if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' });
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  let answer = '';
  socket.setTimeout(3000, () => socket.destroy());
  socket.on('data', data => {
    answer += data;
  });
  socket.on('error', error => {
    answer += `[${error.message}]`;
  });
  for (const part of parts) socket.write(part);
  await new Promise(resolve => socket.once('close', resolve));
  return answer;
}

/** Returns a request whose headers end the connection. */
export const request = (line: string, headers: Record<string, string> = {}, body = '') =>
  `${line} HTTP/1.1\r\n${Object.entries({ Host: 'localhost', Connection: 'close', ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n${body}`;

/** Parses the status, the headers and the body of a raw answer; the first one, if there are several. */
export function parse(answer: string) {
  const [head = '', ...rest] = answer.split('\r\n\r\n');
  const [line = '', ...lines] = head.split('\r\n');
  const headers = Object.fromEntries(
    lines.map(each => [each.split(': ')[0]?.toLowerCase(), each.split(': ').slice(1).join(': ')]),
  );
  const text = rest.join('\r\n\r\n').slice(0, Number(headers['content-length'] ?? 0));
  return {
    status: Number(line.split(' ')[1]),
    headers,
    text,
    body: text.startsWith('{') ? JSON.parse(text) : undefined,
  };
}
