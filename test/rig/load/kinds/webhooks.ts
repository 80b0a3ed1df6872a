import { bytesOf, countAnswers, flood, type Kind, reconnect, together } from '#test/rig/load/client.ts';

const path = '/api/webhooks/stripe';

/** 64 KB, nested 31 deep. */
const nested = (() => {
  const item = `${'['.repeat(29)}${']'.repeat(29)}`;
  return `{"a":[${Array.from({ length: 1100 }, () => item).join()}]}`;
})();

const forged: Kind = {
  name: '10a forged webhooks',
  attack: (target, signal) =>
    flood(target, signal, 8, () => {
      const signature = `t=${Math.floor(Date.now() / 1000)},v1=${'0'.repeat(64)}`;
      const headers = { 'content-type': 'application/json', 'stripe-signature': signature };
      return { method: 'POST', path, headers, body: nested };
    }),
};

/** Bodies of 2 MB that lack their last byte. */
const unended: Kind = {
  name: '10b bodies without an end',
  attack: (target, signal) => {
    const whole = bytesOf(target, { method: 'POST', path, body: ' '.repeat(2 * 2 ** 20) });
    const bytes = Buffer.from(whole).subarray(0, -1);
    return together(200, () =>
      reconnect(target, signal, socket => {
        countAnswers(socket, target);
        socket.write(bytes);
      }),
    );
  },
};

export const webhookKinds = [forged, unended];
