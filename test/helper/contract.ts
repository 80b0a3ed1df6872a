import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { ErrorEnvelope } from '#schemas/parts/error.ts';

interface Document {
  paths?: Record<string, Record<string, { responses: Record<string, Reply> }>>;
  components?: {
    responses?: Record<string, Reply>;
    headers?: Record<string, Header>;
    examples?: Record<string, { value: ErrorEnvelope }>;
  };
}
interface Header {
  $ref?: string;
  required?: boolean;
}
interface Reply {
  $ref?: string;
  headers?: Record<string, Header>;
  content?: Record<string, { schema: object; examples?: Record<string, { $ref: string }> }>;
}
export interface Answer {
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies of every shape
  body: any;
  status: number;
  text: string;
  headers: Record<string, string>;
}

/** Checks real answers against the OpenAPI document: the status is listed, the headers are there, the body is valid. */
export class Contract {
  readonly #document: Document;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #checks = new Map<string, ValidateFunction>();
  readonly #paths: { pattern: RegExp; path: string }[];

  constructor(document: object) {
    this.#document = document;
    addFormats.default(this.#ajv);
    this.#ajv.addSchema(document, 'document');
    this.#paths = Object.keys(this.#document.paths ?? {})
      .map(path => ({ path, pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`) }))
      .sort((a, b) => a.path.split('{').length - b.path.split('{').length);
  }

  /** Returns how this answer contradicts the document, if it does. */
  problem(method: string, url: string, answer: Answer): string | undefined {
    const { status } = answer;
    if (answer.headers['x-request-id'] === undefined) return 'it has no X-Request-Id';
    const path = this.#paths.find(({ pattern }) => pattern.test(url.split('?')[0] ?? ''))?.path ?? '';
    const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
    const operation = this.#document.paths?.[path]?.[verb];
    // Pages, unknown paths and other methods have no operation; an error has the envelope even there.
    if (!operation) return status >= 400 && method !== 'HEAD' ? this.#noEnvelope(answer) : undefined;
    const listed = operation.responses[status];
    if (!listed) return `the status is not among ${Object.keys(operation.responses)}`;
    const reply = this.#resolve(listed);
    const missing = Object.entries(reply.headers ?? {}).filter(
      ([name, header]) => this.#isRequired(header) && answer.headers[name.toLowerCase()] === undefined,
    );
    if (missing.length > 0) return `headers are missing: ${missing.map(([name]) => name)}`;
    if (Object.values(answer.headers).includes('')) return 'a header is empty';
    if (method === 'HEAD') return undefined;
    // `$ref` names a shared error response; a transport with errors of another shape lists its own.
    if (listed.$ref)
      return this.#noEnvelope(
        answer,
        `${listed.$ref.slice(1)}/content/${pointer('application/json')}/schema`,
      );
    const type = String(answer.headers['content-type'] ?? '').split(';')[0] ?? '';
    if (!reply.content) return answer.text === '' ? undefined : 'there is a body';
    if (type === 'text/html' && reply.content['application/json']) return undefined;
    if (!reply.content[type]) return `the media type ${type} is not listed`;
    if (!type.includes('json')) return undefined;
    const { examples } = reply.content[type];
    const location = `/paths/${pointer(path)}/${verb}/responses/${status}/content/${pointer(type)}/schema`;
    if (examples)
      return (
        this.#noEnvelope(answer, location) ?? this.#noExample(path, examples, answer.body as ErrorEnvelope)
      );
    return this.#invalid(location, answer.body);
  }

  /** Returns how an error contradicts this schema, or the schema of all errors. */
  #noEnvelope({ status, headers, body }: Answer, location = '/components/schemas/Error'): string | undefined {
    if (headers['content-type'] !== 'application/json') return 'an error must be application/json';
    if ((body as ErrorEnvelope).error.status !== status) return 'the status differs from the one in the body';
    return this.#invalid(location, body);
  }

  /** Returns what `details` have that the example of their code lacks. The schema says which must be there. */
  #noExample(path: string, examples: object, { error }: ErrorEnvelope): string | undefined {
    const { code } = error.details as { code: string };
    const example = code in examples && this.#document.components?.examples?.[code]?.value.error.details;
    if (!example) return `there is no example of the code ${code}`;
    const [members, documented] = [error.details ?? {}, example].map(details => Object.keys(details).sort());
    // A refusal of a batch also says which operation it is about.
    const known = [...(documented ?? []), ...(path === '/api/batch' ? ['operation'] : [])];
    const isKnown = members?.every(name => known.includes(name));
    return isKnown ? undefined : `details have ${members}, not ${documented}`;
  }

  #resolve(reply: Reply): Reply {
    return (
      (reply.$ref && this.#document.components?.responses?.[reply.$ref.split('/').at(-1) ?? '']) || reply
    );
  }

  #isRequired(header: Header): boolean {
    const { headers = {} } = this.#document.components ?? {};
    const { required = false } = header.$ref ? (headers[header.$ref.split('/').at(-1) ?? ''] ?? {}) : header;
    return required;
  }

  #invalid(location: string, body: unknown): string | undefined {
    const check = this.#checks.get(location) ?? this.#ajv.compile({ $ref: `document#${location}` });
    this.#checks.set(location, check);
    return check(body) ? undefined : this.#ajv.errorsText(check.errors);
  }
}

const pointer = (name: string) => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
