import { type Agent, type IncomingHttpHeaders, request } from 'node:http';
import { gunzipSync } from 'node:zlib';

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The parsed text, if it is JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of every shape
  body: any;
  /** The bytes of the body as they were sent. */
  size: number;
  seconds: number;
}

interface Sent {
  method?: string;
  body?: string | Buffer;
  headers?: Record<string, string>;
  /** The local address to send from; any address of 127.0.0.0/8 works. */
  from?: string;
  /** Keeps connections open; without an agent, each request opens a new one. */
  agent?: Agent | false;
}

/** Sends one request; rejects only if there is no complete answer. */
export function ask(
  url: string,
  { method = 'GET', body, headers = {}, from = '127.0.0.1', agent = false }: Sent = {},
): Promise<Answer> {
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, localAddress: from, agent }, reply => {
      const parts: Buffer[] = [];
      reply.on('data', part => parts.push(part));
      reply.on('error', reject);
      reply.on('end', () => {
        const sent = Buffer.concat(parts);
        const isCompressed = reply.headers['content-encoding'] === 'gzip' && sent.length > 0;
        const text = (isCompressed ? gunzipSync(sent) : sent).toString();
        const isJson = reply.headers['content-type']?.includes('json') && text !== '';
        resolve({
          status: reply.statusCode ?? 0,
          headers: reply.headers,
          text,
          get body() {
            return isJson ? JSON.parse(text) : undefined;
          },
          size: sent.length,
          seconds: (performance.now() - started) / 1000,
        });
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
