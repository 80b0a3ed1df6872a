import { fetchWithKey } from './key.js';

/** An error in words for people. `status` is 0 when the service did not respond. */
const failure = (message, status = 0) => Object.assign(new Error(message), { status });

/**
 * Calls the API, and returns the body of its answer.
 * @param {string} method
 * @param {string} path
 * @param {{ query?: Record<string, any>, body?: object, signal?: AbortSignal }} options
 */
export async function call(method, path, { query = {}, body, signal } = {}) {
  const search = new URLSearchParams(query);
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
  // A balancer in between may answer with a page of its own.
  const answer = await response.json().catch(() => undefined);
  if (ok && (status === 204 || answer)) return answer;
  if (ok) throw failure('The answer is not from the service.');
  const { message = `The service answered ${status}.`, details } = answer?.error ?? {};
  const wrong = Array.isArray(details)
    ? details.map(({ path, message }) => ` ${path} ${message}.`).join('')
    : '';
  const reference = status >= 500 && answer ? ` Request ${headers.get('x-request-id')}.` : '';
  throw failure(message + wrong + reference, status);
}

/** Seconds until the work runs again. */
const [usual, afterFailure] = [3, 10];

/**
 * Runs work now and every few seconds, until the signal or a lasting error ends it. It rests while the page is hidden.
 * The element `said` gets an error in words; work that succeeds clears it.
 */
export async function poll(work, signal, said) {
  while (!signal.aborted) {
    let wait = usual;
    try {
      if (!document.hidden) await work();
    } catch (error) {
      if (signal.aborted) return;
      const { message, status } = error;
      const isPassing = status === 0 || status === 429 || status >= 500;
      said.textContent = isPassing ? `${message} Trying again in ${afterFailure} s.` : message;
      if (!isPassing) return;
      wait = afterFailure;
    }
    await new Promise(resolve => setTimeout(resolve, wait * 1000));
  }
}
