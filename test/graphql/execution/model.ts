import { randomUUID } from 'node:crypto';
import { GraphQLError } from 'graphql';

type Members = Record<string, unknown>;
interface Change {
  id: string;
  expectedVersion?: number | null;
  input: Members;
}
interface Removal extends Omit<Change, 'input'> {
  cascade: boolean;
}
interface ListArguments extends Members {
  page?: number | null;
  limit?: number | null;
  first?: number | null;
  sort?: string | null;
}

const refuse = (code: string) => new GraphQLError('', { extensions: { code } });
const notFound = () => refuse('NOT_FOUND');
const conflict = () => refuse('CONFLICT');
const badInput = () => refuse('BAD_USER_INPUT');

class User {
  id: string = randomUUID();
  version = 1;
  name = '';
  email = '';
  readonly #model: Model;

  constructor(model: Model, members: Members) {
    this.#model = model;
    Object.assign(this, members);
  }

  get ownPosts(): Post[] {
    return this.#model.allPosts.filter(({ author }) => author === this);
  }
  posts = (args: ListArguments = {}) => pageOf(this.ownPosts, args);
  postsCount = (args: ListArguments = {}) => selected(this.ownPosts, args).length;
  postsConnection = (args: ListArguments = {}) => connectionOf(this.ownPosts, args);
}

class Post {
  id: string = randomUUID();
  version = 1;
  title = '';
  status = 'draft';
  author: User;

  constructor(author: User, members: Members) {
    this.author = author;
    Object.assign(this, members);
  }

  get authorId(): string {
    return this.author.id;
  }
}

/** Users and posts in two arrays, and what the schema says of them: the root value of an operation of graphql-js. */
export class Model {
  allUsers: User[] = [];
  allPosts: Post[] = [];

  addUser(members: Members): User {
    const user = new User(this, members);
    this.allUsers.push(user);
    return user;
  }
  addPost({ authorId, ...members }: Members): Post {
    const post = new Post(this.#author(authorId), members);
    this.allPosts.push(post);
    return post;
  }

  /** As REST shows them, without their times. */
  get records(): { id: string }[] {
    return [
      ...this.allUsers.map(({ id, name, email, version }) => ({ id, name, email, version })),
      ...this.allPosts.map(({ id, title, status, authorId, version }) => ({
        id,
        title,
        status,
        authorId,
        version,
      })),
    ];
  }

  users = (args: ListArguments) => pageOf(this.allUsers, args);
  usersCount = (args: ListArguments) => selected(this.allUsers, args).length;
  usersConnection = (args: ListArguments) => connectionOf(this.allUsers, args);
  user = ({ id }: Change) => this.allUsers.find(each => each.id === id) ?? null;
  posts = (args: ListArguments) => pageOf(this.allPosts, args);
  postsCount = (args: ListArguments) => selected(this.allPosts, args).length;
  postsConnection = (args: ListArguments) => connectionOf(this.allPosts, args);
  post = ({ id }: Change) => this.allPosts.find(each => each.id === id) ?? null;

  createUser = ({ input }: Change) => {
    checkInput(input);
    this.#checkEmail(input.email);
    return this.addUser(input);
  };
  replaceUser = (change: Change) => this.updateUser(change);
  updateUser = (change: Change) => {
    const user = existing(this.allUsers, change);
    const { email = user.email } = change.input;
    this.#checkEmail(email, user);
    return changed(user, change.input);
  };
  deleteUser = (removal: Removal) => {
    const user = existing(this.allUsers, removal);
    if (user.postsCount() > 0 && !removal.cascade) throw conflict();
    this.allPosts = this.allPosts.filter(({ author }) => author !== user);
    this.allUsers = this.allUsers.filter(each => each !== user);
    return user.id;
  };

  createPost = ({ input }: Change) => {
    checkInput(input);
    return this.addPost(input);
  };
  replacePost = ({ input, ...change }: Change) =>
    this.updatePost({ ...change, input: { status: 'draft', ...input } });
  updatePost = (change: Change) => {
    const post = existing(this.allPosts, change);
    const { authorId, ...input } = change.input;
    return changed(post, authorId === undefined ? input : { ...input, author: this.#author(authorId) });
  };
  deletePost = (removal: Removal) => {
    const post = existing(this.allPosts, removal);
    this.allPosts = this.allPosts.filter(each => each !== post);
    return post.id;
  };

  #author(id: unknown): User {
    const author = this.allUsers.find(user => user.id === id);
    if (!author) throw badInput();
    return author;
  }
  #checkEmail(email: unknown, owner?: User): void {
    if (this.allUsers.some(user => user !== owner && user.email === email)) throw conflict();
  }
}

/** What the schema allows, and the service does not. */
function checkInput(input: Members): void {
  if (Object.values(input).some(value => value === null || value === '')) throw badInput();
}

/** The record that is to be changed, after the checks in their order. */
function existing<R extends User | Post>(
  records: R[],
  { id, expectedVersion, input = {} }: Partial<Change>,
): R {
  checkInput(input);
  const record = records.find(each => each.id === id);
  if (!record) throw notFound();
  if ((expectedVersion ?? record.version) !== record.version) throw conflict();
  if ((input.id ?? id) !== id) throw badInput();
  if ((input.version ?? record.version) !== record.version) throw conflict();
  return record;
}

function changed<R extends User | Post>(record: R, { id: _id, version: _version, ...members }: Members): R {
  const before = { ...record };
  Object.assign(record, members);
  if (Object.keys(members).some(name => record[name as keyof R] !== before[name as keyof R]))
    record.version++;
  return record;
}

/** The records that match the filters, in the order of the list. */
function selected<R extends User | Post>(records: R[], args: ListArguments): R[] {
  const { page: _page, limit: _limit, first: _first, sort, ...filters } = args;
  const wanted = Object.entries(filters).filter(([, value]) => value !== null);
  checkInput(Object.fromEntries(wanted));
  const found = records.filter(record =>
    wanted.every(([name, value]) => record[(name === 'author' ? 'authorId' : name) as keyof R] === value),
  );
  const [, name = 'createdAt', down] = /^(\w+?)(_desc)?$/.exec(sort ?? 'createdAt') ?? [];
  const member = name as keyof R;
  if (name !== 'createdAt')
    found.sort((a, b) => (a[member] === b[member] ? 0 : a[member] < b[member] ? -1 : 1));
  return down ? found.reverse() : found;
}

function pageOf<R extends User | Post>(records: R[], args: ListArguments): R[] {
  const limit = args.limit ?? (args.page ? 20 : records.length);
  if (limit > 100 || (args.limit ?? 1) < 1 || (args.page ?? 1) < 1) throw badInput();
  const from = ((args.page ?? 1) - 1) * limit;
  return selected(records, args).slice(from, from + limit);
}

function connectionOf<R extends User | Post>(records: R[], args: ListArguments) {
  const first = args.first ?? 20;
  if (first < 0 || first > 100) throw badInput();
  const found = selected(records, args);
  const nodes = found.slice(0, first);
  return {
    edges: nodes.map(node => ({ node })),
    nodes,
    pageInfo: { hasNextPage: found.length > first, hasPreviousPage: false },
    totalCount: found.length,
  };
}
