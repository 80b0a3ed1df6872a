import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { serve } from '#test/helper/servers/serve.ts';

/** A call of an effect, as the sink got it. */
export interface SinkCall {
  key: string;
  id: string;
  version: number;
  name: string;
  /** The process that called. */
  worker: number;
  /** How it ended: undefined until then, or if the caller was gone first. */
  answer?: 'taken' | 'refused' | 'closed' | 'silent';
}

/** What a sink does with a call: it may also end the caller first, or once it has the answer. */
export type Behaviour = (call: SinkCall) => {
  answer: NonNullable<SinkCall['answer']>;
  milliseconds?: number;
  before?: () => unknown;
  afterwards?: () => unknown;
};

/** Opens a service that effects call, on loopback. It counts how many calls of a record overlap. */
export async function openSink(t: Test, behave: Behaviour) {
  const calls: SinkCall[] = [];
  const open = new Map<string, number>();
  let overlaps = 0;
  const { url } = await serve(t, async (request, response) => {
    const key = String(request.headers['idempotency-key']);
    const worker = Number(request.headers['x-worker']);
    const call: SinkCall = { key, worker, ...JSON.parse(await text(request)) };
    const others = open.get(call.id) ?? 0;
    if (others > 0) overlaps++;
    open.set(call.id, others + 1);
    response.on('close', () => open.set(call.id, (open.get(call.id) ?? 1) - 1));
    calls.push(call);
    const { answer, milliseconds = 2, before, afterwards } = behave(call);
    if (before) await before();
    await sleep(milliseconds);
    if (response.destroyed) return;
    if (answer === 'closed') request.socket.destroy();
    else if (answer !== 'silent') response.writeHead(answer === 'taken' ? 200 : 500).end();
    call.answer = answer;
    await afterwards?.();
  });
  return { url, calls, overlaps: () => overlaps };
}
