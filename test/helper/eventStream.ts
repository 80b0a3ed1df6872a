import type { Test } from 'tap';
import { build } from './app.ts';

/** A block of a stream of server-sent events. */
export interface SentEvent {
  event?: string;
  id?: string;
  retry?: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into data of every shape
  data?: any;
}

const read = (block: string): SentEvent =>
  Object.fromEntries(
    block
      .split('\n')
      .filter(line => !line.startsWith(':'))
      .map(line => {
        const [, name = '', value = ''] = /^(\w+): ?(.*)$/.exec(line) ?? [];
        return [name, name === 'data' && value ? JSON.parse(value) : value];
      }),
  );

/** Opens a stream over a real socket, as a client does; it is closed when the test ends. */
export async function openEvents(t: Test | undefined, url: string, init: RequestInit = {}) {
  const leaving = new AbortController();
  const response = await fetch(url, { ...init, signal: leaving.signal });
  const close = () => leaving.abort();
  t?.teardown(close);
  const received: SentEvent[] = [];
  let isOver = false;
  let woken = Promise.withResolvers<void>();
  async function receive() {
    let rest = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
      rest = blocks.pop() ?? '';
      received.push(...blocks.map(read));
      woken.resolve();
    }
  }
  const isStream = response.headers.get('content-type') === 'text/event-stream';
  const ended = isStream
    ? receive()
        .catch(() => {})
        .finally(() => {
          isOver = true;
          woken.resolve();
        })
    : undefined;
  let taken = 0;
  /** Waits for this many more blocks that fit, or for the end of the stream, and returns them. */
  async function next(
    amount: number,
    fits = (event: SentEvent) => event.data !== undefined,
  ): Promise<SentEvent[]> {
    for (;;) {
      woken = Promise.withResolvers();
      const found = received.slice(taken).flatMap((event, i) => (fits(event) ? [taken + i] : []));
      if (found.length >= amount || isOver) {
        const chosen = found.slice(0, amount);
        taken = (chosen.at(-1) ?? taken - 1) + 1;
        return chosen.map(i => received[i] as SentEvent);
      }
      await woken.promise;
    }
  }
  return { response, received, next, close, ended };
}

/** Lets an application listen, and returns a function that opens its stream of changes. */
export async function listen(t: Test, { app }: Pick<Awaited<ReturnType<typeof build>>, 'app'>) {
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  // The service would wait for the connections that a client opens in advance.
  t.teardown(() => app.server.closeAllConnections());
  const follow = (query = '', headers: Record<string, string> = {}) =>
    openEvents(t, `${url}/api/changes${query}`, { headers });
  return { url, follow };
}

export async function openFeed(t: Test, options: Parameters<typeof build>[1] = {}) {
  const service = await build(t, options);
  return { ...service, ...(await listen(t, service)) };
}
