import { ask } from './dialogs.js';

/** In memory alone: it is gone when the page is closed or loaded again. */
let key;

/** Whether this page uses the key with this id. */
export const isOwnKey = id => key?.split('_')[1] === id.replaceAll('-', '');

/** An error in words for people. `status` is 0 when there was no response. */
export class Failure extends Error {
  constructor(message, { status = 0, details = {}, retryAfter = 0 } = {}) {
    super(message);
    this.status = status;
    this.details = details;
    this.retryAfter = retryAfter;
  }
  /** Whether the same request can succeed a little later. */
  get isPassing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/**
 * Calls the API, and returns the body of its answer. Asks for a key when one is needed.
 * @param {string} method
 * @param {string} path
 * @param {{ query?: Record<string, any>, body?: object, signal?: AbortSignal }} options
 */
export async function call(method, path, { query = {}, body, signal } = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const url = given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path;
  for (;;) {
    const used = key;
    const response = await send(method, url, { body, signal });
    if (response.status !== 401 && response.status !== 403) return read(response);
    // Another request may have asked meanwhile.
    if (used === key) await askForKey(await read(response).catch(error => error.message));
  }
}

function send(method, url, { body, signal }) {
  const headers = {
    ...(key && { authorization: `Bearer ${key}` }),
    ...(body && { 'content-type': 'application/json' }),
  };
  return fetch(url, { method, headers, signal, ...(body && { body: JSON.stringify(body) }) }).catch(error => {
    if (error.name === 'AbortError') throw error;
    throw new Failure('The service cannot be reached.');
  });
}

async function read(response) {
  const { ok, status, headers } = response;
  const answer = parse(await response.text());
  if (ok && (status === 204 || answer)) return answer;
  if (ok) throw new Failure('The answer is not from the service.');
  const { message = `The service answered ${status}.`, details } = answer?.error ?? {};
  const id = headers.get('x-request-id');
  const reference = status >= 500 && id ? ` Request ${id}.` : '';
  // A date, which balancers may send, counts as nothing.
  const retryAfter = Number(headers.get('retry-after')) || 0;
  throw new Failure(message + wrongIn(details) + reference, { status, details, retryAfter });
}

/** A balancer in between answers with a page of its own. */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What is wrong with the input, and where. */
const wrongIn = details =>
  Array.isArray(details) ? ` ${details.map(({ path, message }) => `${path} ${message}.`).join(' ')}` : '';

let asking;

/** All requests that need the key wait for the same answer. */
function askForKey(refusal) {
  asking ??= ask({
    title: key === undefined ? 'This service requires a key' : 'The service refuses this key',
    text: `${key === undefined ? '' : `${refusal} `}Enter an API key or a token with the scope admin. This page keeps it in memory alone: it is gone when you close or reload the page.`,
    label: 'Key',
  }).then(answer => {
    key = answer;
    asking = undefined;
    document.getElementById('forget').hidden = false;
  });
  return asking;
}
