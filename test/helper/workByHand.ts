import type { Test } from 'tap';
import { readSettings } from '../../src/config/settings.ts';
import type { Context } from '../../src/core/context.ts';
import { startJobs } from '../../src/jobs.ts';
import type { IncomingEvent } from '../../src/webhooks/handlers/handler.ts';
import type { DueJob, Work } from '../../src/webhooks/queue.ts';
import { testLog } from './database.ts';
import { handling } from './webhooks.ts';

/** A worker whose queue passes on its batches by hand. */
export function workByHand(
  t: Test,
  parts: Pick<Parameters<typeof startJobs>[0], 'database' | 'metrics'>,
  handle: (context: Context, events: IncomingEvent[]) => Promise<void>,
) {
  let work: Work = async () => [];
  const queue = {
    ready: Promise.resolve(),
    add: async () => {},
    work: (given: Work) => {
      work = given;
    },
    rest: async () => {},
    close: async () => {},
  };
  const handlers = handling('payment_intent.succeeded', {
    ...{ effect: '', needsCustomer: true },
    handle: async (context, events) => {
      await handle(context, events);
      return {};
    },
  });
  const worker = startJobs({
    settings: readSettings({ NODE_ENV: 'test' }),
    ...parts,
    queue,
    log: testLog,
    handlers,
  });
  t.teardown(() => worker.close());
  return (jobs: DueJob[], signal = new AbortController().signal) => work(jobs, signal);
}
