import { fetchWithKey } from './key.js';

/** An error in words for people. `status` is 0 when there was no response. */
const failure = (message, members = {}) =>
  Object.assign(new Error(message), { status: 0, details: {}, retryAfter: 0, ...members });

/**
 * Calls the API, and returns the body of its answer.
 * @param {string} method
 * @param {string} path
 * @param {{ query?: Record<string, any>, body?: object, signal?: AbortSignal }} options
 */
export async function call(method, path, { query = {}, body, signal } = {}) {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined));
  const headers = body && { 'content-type': 'application/json' };
  const request = { method, headers, signal, body: body && JSON.stringify(body) };
  const response = await fetchWithKey(`${path}?${search}`, request, 'admin').catch(error => {
    if (error.name === 'AbortError') throw error;
    throw failure('The service cannot be reached.');
  });
  return read(response);
}

async function read(response) {
  const { ok, status, headers } = response;
  // A balancer in between answers with a page of its own.
  const answer = await response.json().catch(() => undefined);
  if (ok && (status === 204 || answer)) return answer;
  if (ok) throw failure('The answer is not from the service.');
  const { message = `The service answered ${status}.`, details } = answer?.error ?? {};
  const wrong = Array.isArray(details)
    ? details.map(({ path, message }) => ` ${path} ${message}.`).join('')
    : '';
  const reference = status >= 500 && answer ? ` Request ${headers.get('x-request-id')}.` : '';
  // A date, which balancers may send, counts as nothing.
  const retryAfter = Number(headers.get('retry-after')) || 0;
  throw failure(message + wrong + reference, { status, details: details ?? {}, retryAfter });
}

/** Seconds. */
const [usual, longest] = [3, 60];

/**
 * Runs work now and every few seconds, until the signal ends it. It rests while the page is hidden, and waits longer
 * after each failure. `say` gets the error in words; work that succeeds takes it away.
 */
export async function poll(work, signal, say) {
  let failures = 0;
  while (!signal.aborted) {
    let wait = usual;
    try {
      if (!document.hidden) {
        await work();
        failures = 0;
      }
    } catch (error) {
      if (signal.aborted) return;
      const { status, retryAfter } = error;
      const isPassing = status === 0 || status === 429 || status >= 500;
      if (!isPassing) return say(error.message);
      failures += 1;
      wait = Math.min(Math.max(retryAfter, usual * 2 ** failures), longest);
      say(`${error.message} Trying again in ${wait} s.`);
    }
    await new Promise(resolve => setTimeout(resolve, wait * 1000));
  }
}
