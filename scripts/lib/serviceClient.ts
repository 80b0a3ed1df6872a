import { OperatorError } from '../../src/core/errors.ts';

/** An answer of the service that is an error. */
class ErrorAnswer extends OperatorError {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Calls a running service with an API key. */
export class ServiceClient {
  readonly #base: string;
  readonly #key: string | undefined;

  constructor(base: string, key: string | undefined) {
    this.#base = base.replace(/\/+$/, '');
    this.#key = key;
  }

  /** Returns any answer, and throws only without one. */
  request(path: string, init: RequestInit): Promise<Response> {
    return fetch(this.#base + path, init).catch(error => {
      const { code, message } = error.cause ?? error;
      const advice = code === undefined ? '' : ' Is the service running?';
      throw new OperatorError(`${this.#base}: ${message || code}.${advice}`);
    });
  }

  /** Returns the body of a successful answer and throws on errors. */
  async call<T>(method: string, path: string, body?: object): Promise<T> {
    const headers = {
      ...(this.#key && { authorization: `Bearer ${this.#key}` }),
      ...(body && { 'content-type': 'application/json' }),
    };
    const answer = await this.request(path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const read = parse(await answer.text());
    if (answer.ok && read) return read;
    const { message, details } = read?.error ?? { message: `${this.#base} is not this service.` };
    throw new ErrorAnswer(
      answer.status,
      [answer.status, message, JSON.stringify(details), adviceFor(answer.status)].filter(Boolean).join(' '),
    );
  }
}

/** For records that may be absent. */
export const orUndefined = (error: unknown): undefined => {
  if (error instanceof ErrorAnswer && error.status === 404) return undefined;
  throw error;
};

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
