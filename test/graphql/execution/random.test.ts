import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import {
  buildSchema,
  defaultFieldResolver,
  execute,
  GraphQLError,
  type GraphQLFieldResolver,
  getOperationAST,
  getVariableValues,
  Lexer,
  parse,
  responsePathAsArray,
  Source,
  TokenKind,
  validate,
} from 'graphql';
import t from 'tap';
import type { Post } from '../../../schemas/post.ts';
import type { User } from '../../../schemas/user.ts';
import { build } from '../../helper/app.ts';
import { randomFrom, seed } from '../../helper/values/random.ts';
import { type Kind, type Material, OperationDraw, type Variables } from './draw.ts';
import { Model } from './model.ts';

interface Answer {
  data?: unknown;
  errors?: {
    message: string;
    locations: unknown;
    path: readonly (string | number)[] | undefined;
    code: unknown;
  }[];
}

t.setTimeout(180_000);
const operations = Number(process.env.FUZZ_RUNS ?? 60);
const schema = buildSchema(readFileSync('schema.graphql', 'utf8'));
const unlimited = { GRAPHQL_MAX_DEPTH: 100, GRAPHQL_MAX_COST: 10_000_000 };
const { call, database } = await build(t, { settings: unlimited });

const lists = (plural: string) => [plural, `${plural}Count`, `${plural}Connection`];
const writes = (type: string) => ['create', 'replace', 'update', 'delete'].map(verb => verb + type);
const connection = ['edges', 'nodes', 'pageInfo', 'totalCount'];
const fields = {
  Query: ['user', 'post', ...lists('users'), ...lists('posts')],
  Mutation: [...writes('User'), ...writes('Post')],
  User: ['id', 'name', 'email', 'version', ...lists('posts')],
  Post: ['id', 'title', 'status', 'authorId', 'version', 'author'],
  UserConnection: connection,
  PostConnection: connection,
  UserEdge: ['node'],
  PostEdge: ['node'],
  PageInfo: ['hasNextPage', 'hasPreviousPage'],
};
const nobody = '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90';

/** What operations on the records of a model are drawn from. */
function materialOf({ allUsers, allPosts }: Model): Material {
  const [users, posts] = [allUsers.map(({ id }) => id), allPosts.map(({ id }) => id)];
  const idsOf = (type: string, ids: string[]) =>
    [type.toLowerCase(), ...writes(type)].map(field => [`${field}.id`, [...ids, nobody]]);
  return {
    schema,
    fields,
    values: {
      id: [...users, ...posts, nobody],
      ...Object.fromEntries([...idsOf('User', users), ...idsOf('Post', posts)]),
      author: [...users, nobody],
      authorId: users,
      name: ['ann', 'bob', '__MAGIC_NAN__57f286b9_4c20_487f_b409_79804ddcb4f8'],
      email: ['ann', 'bob', 'cid', 'dan', 'eve', 'fay'].map(name => `${name}@example.com`),
      title: ['first', 'second', '\\" + `1` + \u2028'],
      page: [1, 2],
      limit: [1, 2, 100],
      first: [0, 1, 3],
      version: [1, 2],
      expectedVersion: [1, 2],
      cascade: [true, false],
      if: [true, false],
    },
    refused: { limit: [0, 101], page: [0], first: [-1, 101], name: [''], title: [''], authorId: [nobody] },
  };
}

/** Three users and five posts in the service, and the same in a model. */
async function makeRecords(): Promise<Model> {
  await database.writes.rows('delete from posts', []);
  await database.writes.rows('delete from users', []);
  const model = new Model();
  const create = async (path: string, body: Record<string, unknown>) =>
    (await call('POST', path, 201, { body })).body;
  for (const [name, address] of [
    ['bob', 'bob'],
    ['ann', 'ann'],
    ['bob', 'cid'],
  ])
    model.addUser(await create('/api/users', { name, email: `${address}@example.com` }));
  const [bob, ann] = model.allUsers.map(({ id }) => id);
  for (const [authorId, title, status] of [
    [bob, 'second', 'draft'],
    [ann, 'first', 'published'],
    [bob, 'first', 'draft'],
    [ann, 'first', 'draft'],
    [bob, 'third', 'published'],
  ])
    model.addPost(await create('/api/posts', { authorId, title, status }));
  return model;
}

/**
 * Of two errors that make the same place null, only the first is reported, and a database that answers sooner or later
 * decides which. So the fields that lead to the errors of the service run at once, and all others wait.
 */
const sameErrorsFirst =
  ({ errors = [] }: Answer): GraphQLFieldResolver<unknown, unknown> =>
  async (source, args, context, info) => {
    const keys = responsePathAsArray(info.path);
    const leadsToError = errors.some(({ path }) => keys.every((key, depth) => key === path?.[depth]));
    if (!leadsToError) await setImmediate();
    return defaultFieldResolver(source, args, context, info);
  };

/** What graphql-js answers, with the codes of the service. */
async function askModel(
  query: string,
  variables: Variables,
  model: Model,
  fieldResolver: GraphQLFieldResolver<unknown, unknown>,
): Promise<Answer> {
  const refused = (code: string, errors: readonly GraphQLError[]) => ({ errors: errors.map(toError(code)) });
  const options = { maxErrors: 20 };
  try {
    const document = parse(query);
    const mistakes = validate(schema, document, undefined, options);
    if (mistakes.length > 0) return refused('GRAPHQL_VALIDATION_FAILED', mistakes);
    const { variableDefinitions = [] } = getOperationAST(document) ?? {};
    const { errors } = getVariableValues(schema, variableDefinitions, variables, options);
    if (errors) return refused('BAD_USER_INPUT', errors);
    const result = await execute({
      schema,
      document,
      rootValue: model,
      variableValues: variables,
      fieldResolver,
    });
    return { data: result.data, ...(result.errors && refused('BAD_USER_INPUT', result.errors)) };
  } catch (error) {
    if (error instanceof GraphQLError) return refused('GRAPHQL_PARSE_FAILED', [error]);
    throw error;
  }
}

async function askService(query: string, variables: Variables): Promise<Answer> {
  const { data, errors } = (await call('POST', '/api/graphql', 200, { body: { query, variables } })).body;
  return { data, ...(errors && { errors: errors.map(toError()) }) };
}

/** The messages of the service are left out: the model has none. */
const toError =
  (code = '') =>
  ({ message, locations, path, extensions }: GraphQLError) => {
    const isOfService =
      'details' in extensions || ['NOT_FOUND', 'CONFLICT'].includes(String(extensions.code));
    return { message: isOfService ? '' : message, locations, path, code: extensions.code ?? code };
  };

/** As a text, in which the order of members counts too. Ids of new records are numbered as they appear. */
function toText(answer: unknown, ids: string[]): string {
  const seen = [...ids];
  return JSON.stringify(answer, null, 1).replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, id => {
    if (!seen.includes(id)) seen.push(id);
    return `id ${seen.indexOf(id)}`;
  });
}

/** The document without one of its tokens: most of these are no longer valid. */
function withoutToken(query: string, random: () => number): string {
  const lexer = new Lexer(new Source(query));
  const tokens = [];
  while (lexer.advance().kind !== TokenKind.EOF) tokens.push(lexer.token);
  const { start, end } = tokens[Math.floor(random() * tokens.length)] ?? { start: 0, end: 0 };
  return query.slice(0, start) + query.slice(end);
}

/** All records of the service, without their times. */
async function readRecords(): Promise<object[]> {
  const read = async (path: string) => (await call('GET', `${path}?limit=100`, 200)).body.data;
  const records: (User | Post)[] = [...(await read('/api/users')), ...(await read('/api/posts'))];
  const known = [...fields.User, ...fields.Post];
  return records.map(record =>
    Object.fromEntries(Object.entries(record).filter(([name]) => known.includes(name))),
  );
}

for (const kind of ['query', 'mutation'] as Kind[])
  t.test(`a random ${kind} does what graphql-js does, each time it is sent`, async t => {
    let model = await makeRecords();
    const counts = { data: 0, errors: 0 };
    for (let number = 0; number < operations; number++) {
      const again = `repeat it with TEST_SEED=${seed + number} FUZZ_RUNS=1`;
      const random = randomFrom(seed + number);
      const drawn = new OperationDraw(materialOf(model), random, kind);
      const query = random() < 0.1 ? withoutToken(drawn.query, random) : drawn.query;
      const before = JSON.stringify(model.records);
      const ids = model.records.map(({ id }) => id);
      for (let times = [1, 2, 3, 10][Math.floor(random() * 4)] ?? 1; times > 0; times--) {
        const variables = drawn.variables();
        const found = await askService(query, variables);
        const wanted = await askModel(query, variables, model, sameErrorsFirst(found));
        if (!t.equal(toText(found, ids), toText(wanted, ids), again))
          return t.comment(query, JSON.stringify(variables));
        if (wanted.data) counts.data++;
        if (wanted.errors) counts.errors++;
      }
      t.equal(toText(await readRecords(), ids), toText(model.records, ids), `the same records; ${again}`);
      if (JSON.stringify(model.records) !== before) model = await makeRecords();
    }
    const { data, errors } = counts;
    t.ok(operations < 20 || (data > operations && errors > operations / 10), JSON.stringify(counts));
  });
