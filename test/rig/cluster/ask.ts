import { type IncomingHttpHeaders, request } from 'node:http';
import { gunzipSync } from 'node:zlib';

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The bytes of the body as they were sent. */
  size: number;
}

interface Sent {
  method?: string;
  body?: string | Buffer;
  headers?: Record<string, string>;
  /** The local address to send from; any address of 127.0.0.0/8 works. */
  from?: string;
}

/** Sends one request on a new connection; rejects without a complete answer. */
export function ask(
  url: string,
  { method = 'GET', body, headers = {}, from = '127.0.0.1' }: Sent = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, localAddress: from, agent: false }, reply => {
      const parts: Buffer[] = [];
      reply.on('data', part => parts.push(part));
      reply.on('error', reject);
      reply.on('end', () => {
        const sent = Buffer.concat(parts);
        const isCompressed = reply.headers['content-encoding'] === 'gzip' && sent.length > 0;
        const text = (isCompressed ? gunzipSync(sent) : sent).toString();
        resolve({ status: reply.statusCode ?? 0, headers: reply.headers, text, size: sent.length });
      });
    });
    sent.on('error', reject).end(body);
  });
}

export const json = (value: object, headers: Record<string, string> = {}) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(value),
});
