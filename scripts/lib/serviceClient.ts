import { OperatorError } from '#src/core/errors.ts';

/** Calls a running service with an API key. */
export function serviceAt(url: string, key: string | undefined) {
  const base = url.replace(/\/+$/, '');

  /** Returns any answer, and throws only when there is none. */
  const request = (path: string, init: RequestInit): Promise<Response> =>
    fetch(base + path, init).catch(error => {
      const { code, message } = error.cause ?? error;
      const advice = code === undefined ? '' : ' Is the service running?';
      throw new OperatorError(`${base}: ${message || code}.${advice}`);
    });

  /** Returns the body of a successful answer. An error is thrown, with its status as the cause. */
  async function call<T>(method: string, path: string, body?: object): Promise<T> {
    const headers = {
      ...(key && { authorization: `Bearer ${key}` }),
      ...(body && { 'content-type': 'application/json' }),
    };
    const answer = await request(path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const { status, ok } = answer;
    const read = parse(await answer.text());
    if (ok && read) return read;
    const { message, details } = read?.error ?? { message: `${base} is not this service.` };
    const parts = [status, message, JSON.stringify(details), adviceFor(status)];
    throw new OperatorError(parts.filter(Boolean).join(' '), { cause: status });
  }
  return { request, call };
}

/** Turns a 404 into undefined, for a record that may be absent. */
export function orUndefined(error: Error): undefined {
  if (error.cause !== 404) throw error;
}

function parse(text: string) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const adviceFor = (status: number) =>
  [401, 403].includes(status)
    ? 'Pass an API key by --key or API_KEY; --help says with which scope. `npm run keys` creates one; stop a service with an embedded database first.'
    : undefined;
