/** The file that makes the client. */
export const clientFile = `import openApiFetch, {
  type Client,
  type ClientPathsWithMethod,
  type FetchOptions,
  type FetchResponse,
} from 'openapi-fetch';
import type { paths } from './api.js';

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** Exactly those of the operation: the types of openapi-fetch let a misspelt optional member pass. */
type Options<Operation> =
  object extends FetchOptions<Operation> ? [options?: FetchOptions<Operation>] : [options: FetchOptions<Operation>];

/** A method for each HTTP method. It returns \`data\` or \`error\`, and the \`response\`. */
export type ApiClient = Pick<Client<paths>, 'use' | 'eject'> & {
  [M in Method as Uppercase<M>]: <Path extends ClientPathsWithMethod<Client<paths>, M>>(
    path: Path,
    ...options: Options<paths[Path][M]>
  ) => Promise<FetchResponse<NonNullable<paths[Path][M]>, object, \`\${string}/\${string}\`>>;
};

export interface ClientSettings {
  /** Where the service is, such as \`http://127.0.0.1:3000\`. */
  url: string;
  /** An API key or a token, where the service requires one. */
  key?: string | undefined;
  /** Instead of the global \`fetch\`. */
  fetch?: ((request: Request) => Promise<Response>) | undefined;
}

/** A client of the service. It throws without an answer of the service, and never on an error that the service answers. */
export function createClient({ url, key, fetch }: ClientSettings): ApiClient {
  const client = openApiFetch<paths>({
    baseUrl: url,
    ...(fetch && { fetch }),
    ...(key && { headers: { Authorization: \`Bearer \${key}\` } }),
  });
  client.use({
    onResponse({ request, response: { ok, status, headers } }) {
      // What a proxy answers is not the \`error\` of the types.
      if (!ok && status !== 304 && !headers.get('Content-Type')?.includes('json'))
        throw new Error(\`\${request.method} \${request.url}: the answer \${status} is not from the service.\`);
    },
  });
  return client as ApiClient;
}

/** What a list answers. */
interface Page<T> {
  data?: { data: T[]; meta: { limit: number; next?: string | null } };
  error?: { error: { message: string } };
}

/** Each record of a list, page after page. An error of the service is thrown, as the \`cause\` of an \`Error\`. */
export async function* walk<T>(read: (after: string) => Promise<Page<T>>): AsyncGenerator<T, void> {
  let after: string | null = '';
  while (after !== null) {
    const { data, error }: Page<T> = await read(after);
    if (!data) throw new Error(error?.error.message, { cause: error?.error });
    yield* data.data;
    after = data.meta.next ?? null;
  }
}
`;
