// A client of the REST API. `npm run client` writes the types beside it: api.ts.
import createOpenApiClient, {
  type Client,
  type ClientOptions,
  type ClientPathsWithMethod,
  type FetchOptions,
  type FetchResponse,
} from 'openapi-fetch';
import type { components, paths } from './api.js';

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
type PathOf<M extends Method> = ClientPathsWithMethod<Client<paths>, M>;
type PageMeta = components['schemas']['PageMeta'];
type CursorMeta = components['schemas']['CursorMeta'];

/** Exactly those of the operation: the types of openapi-fetch let a misspelt optional member pass. */
type Options<Operation, Paging = object> = object extends FetchOptions<Operation> & Paging
  ? [options?: FetchOptions<Operation> & Paging]
  : [options: FetchOptions<Operation> & Paging];

type Answer<Operation> = FetchResponse<NonNullable<Operation>, object, `${string}/${string}`>;

type Call<M extends Method> = <Path extends PathOf<M>>(
  path: Path,
  ...options: Options<paths[Path][M]>
) => Promise<Answer<paths[Path][M]>>;

/** The lists whose pages have numbers, except beside a cursor. A log has only cursors. */
type ListPath = {
  [Path in PathOf<'get'>]: PageMeta extends MetaOf<Answer<paths[Path]['get']>['data']> ? Path : never;
}[PathOf<'get'>];
type MetaOf<Body> = Body extends { meta: infer Meta } ? Meta : never;

type List<Paging, Meta> = <Path extends ListPath>(
  path: Path,
  ...options: Options<paths[Path]['get'], Paging>
) => Promise<Answer<paths[Path]['get']> & { data?: { meta: Meta } }>;
type ListByNumber = List<{ params?: { query?: { after?: never; before?: never } } }, PageMeta>;
type ListByCursor = List<{ params: { query: { after: string } | { before: string } } }, CursorMeta>;

/** A method for each HTTP method. It returns `data` or `error`, and the `response`. */
export interface ApiClient extends Pick<Client<paths>, 'use' | 'eject'> {
  // The last is for a query that may have a cursor, and for what is no list.
  GET: ListByNumber & ListByCursor & Call<'get'>;
  POST: Call<'post'>;
  PUT: Call<'put'>;
  PATCH: Call<'patch'>;
  DELETE: Call<'delete'>;
}

/** `fetch` is used instead of the global one. */
export interface ClientSettings extends Pick<ClientOptions, 'fetch'> {
  /** Where the service is, such as `http://127.0.0.1:3000`. */
  url: string;
  /** An API key or a token, where the service requires one. */
  key?: string | undefined;
}

/**
 * A client of the service. It throws without an answer of the service, and never on an error that the service
 * answers.
 */
export function createClient({ url, key, ...options }: ClientSettings): ApiClient {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const client = createOpenApiClient<paths>({ baseUrl: url, headers, ...options });
  client.use({
    onResponse({ request, response: { ok, status, headers } }) {
      // What a proxy answers is not the `error` of the types.
      if (!ok && status !== 304 && !headers.get('Content-Type')?.includes('json'))
        throw new Error(`${request.method} ${request.url}: the answer ${status} is not from the service.`);
    },
  });
  return client as ApiClient;
}

/** What a list answers to a query with a cursor. */
interface Page<T> {
  data?: { data: T[]; meta: { next: string | null } };
  error?: { error: { message: string } };
}

/** Each record of a list, page after page. An error of the service is thrown, as the `cause` of an `Error`. */
export async function* walk<T>(read: (after: string) => Promise<Page<T>>): AsyncGenerator<T, void> {
  let after: string | null = '';
  while (after !== null) {
    const { data, error }: Page<T> = await read(after);
    if (!data) throw new Error(error?.error.message, { cause: error?.error });
    yield* data.data;
    after = data.meta.next;
  }
}
