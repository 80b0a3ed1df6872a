import type { Test } from 'tap';
import type { Settings } from '../../schemas/settings.ts';
import { buildApp } from '../../src/app.ts';
import { readSettings } from '../../src/core/config.ts';
import type { Counters } from '../../src/core/counters.ts';
import type { Database } from '../../src/core/database.ts';
import type { Queue } from '../../src/core/queue.ts';
import { Contract } from './contract.ts';
import { openTestDatabase, testLog } from './database.ts';

export interface Call {
  body?: unknown;
  /** Sent as it is, not as JSON. */
  raw?: string | Buffer;
  headers?: Record<string, string>;
}

export interface Answer {
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies of every shape
  body: any;
  text: string;
  headers: Record<string, string>;
}

/** For tests in which nobody works on events. */
const noQueue: Queue = { ready: Promise.resolve(), add: async () => {} };

/** A whole application on a database of its own, closed when the test ends. */
export async function build(
  t: Test,
  {
    settings = {},
    database,
    queue = noQueue,
    counters,
    now,
  }: {
    settings?: Partial<Settings>;
    database?: Database;
    queue?: Queue;
    counters?: Counters;
    now?: () => Date;
  } = {},
) {
  const used = database ?? (await openTestDatabase(t));
  const defaults = readSettings({ NODE_ENV: 'test', RATE_LIMIT_MAX: '1000000' });
  const app = await buildApp({
    settings: { ...defaults, ...settings },
    database: used,
    queue,
    log: testLog,
    ...(counters && { counters }),
    ...(now && { now }),
  });
  t.teardown(() => app.close());
  const contract = new Contract(app.swagger());

  /** Sends a request and holds the answer against the expected status and the served document. */
  async function call(
    method: string,
    url: string,
    status: number,
    { body, raw, headers = {} }: Call = {},
  ): Promise<Answer> {
    const reply = await app.inject({
      method: method as 'GET',
      url,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(raw !== undefined ? { payload: raw } : body !== undefined ? { payload: JSON.stringify(body) } : {}),
    });
    const json = reply.headers['content-type']?.toString().includes('json') && reply.body !== '';
    const answer = {
      body: json ? reply.json() : undefined,
      text: reply.body,
      headers: reply.headers as Record<string, string>,
    };
    if (reply.statusCode !== status)
      t.fail(`${method} ${url} answered ${reply.statusCode}, not ${status}: ${reply.body.slice(0, 500)}`);
    const lie = contract.problem(method, url, reply.statusCode, answer);
    if (lie) t.fail(`${method} ${url} ${reply.statusCode} is not as documented: ${lie}`);
    return answer;
  }
  return { app, call, database: used };
}
