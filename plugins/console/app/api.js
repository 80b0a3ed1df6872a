import { credentials, fetchWithKey } from './key.js';

/** An error in words for people. `status` is 0 when the service did not respond. */
const failure = (message, status = 0, details = {}) => Object.assign(new Error(message), { status, details });

let used = credentials().authorization;

/** Calls the API, and asks for another key when the service refuses this one. `newkey` says that the reader changed. */
export async function send(path, init = {}) {
  const response = await fetchWithKey(path, init).catch(error => {
    if (error.name === 'AbortError') throw error;
    throw failure('The service cannot be reached.');
  });
  if (used !== credentials().authorization) dispatchEvent(new Event('newkey'));
  used = credentials().authorization;
  return response;
}

/**
 * Returns the body of an answer.
 * @param {string} method
 * @param {string} path
 * @param {{ query?: Record<string, any>, body?: object, headers?: object, signal?: AbortSignal }} options
 */
export async function call(method, path, { query = {}, body, headers, signal } = {}) {
  const search = String(new URLSearchParams(query));
  const type = body && { 'content-type': 'application/json' };
  const init = { method, headers: { ...headers, ...type }, signal, body: body && JSON.stringify(body) };
  const response = await send(`${path}${search && `?${search}`}`, init);
  const { ok, status } = response;
  // A balancer in between may answer with a page of its own.
  const answer = await response.json().catch(() => undefined);
  if (ok && (status === 204 || answer)) return answer;
  if (ok) throw failure('The answer is not from the service.');
  const { message = `The service answered ${status}.`, details = {} } = answer?.error ?? {};
  const wrong = Array.isArray(details)
    ? details.map(({ path, message }) => ` ${path} ${message}.`).join('')
    : '';
  const reference = status >= 500 && answer ? ` Request ${response.headers.get('x-request-id')}.` : '';
  throw failure(message + wrong + reference, status, details);
}

/** Whether it is worth trying again. */
export const isPassingStatus = status => status === 0 || status === 429 || status >= 500;

/** Seconds until the work runs again. */
const [usual, afterFailure] = [5, 10];

/**
 * Runs work now and every few seconds, until it says that it is done, or the signal or a lasting error ends it. It rests
 * while the page is hidden. The element `said` gets an error in words; work that succeeds clears it.
 */
export async function poll(work, signal, said, every = usual) {
  while (!signal.aborted) {
    let wait = every;
    try {
      const isDone = !document.hidden && (await work());
      said.textContent = '';
      if (isDone === 'done') return;
    } catch (error) {
      if (signal.aborted) return;
      const { message, status } = error;
      const isPassing = isPassingStatus(status);
      said.textContent = isPassing ? `${message} Trying again in ${afterFailure} s.` : message;
      if (!isPassing) return;
      wait = afterFailure;
    }
    await new Promise(resolve => setTimeout(resolve, wait * 1000));
  }
}
