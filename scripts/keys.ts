import { userInfo } from 'node:os';
import { ref } from '#schemas/parts/common.ts';
import { type ApiKey, ApiKeyCreate, scopes } from '#schemas/service/apiKey.ts';
import { type Context, systemContext } from '#src/access/context.ts';
import { type Arguments, commandNamed, type Io, mainOf, UsageError } from '#src/command.ts';
import { invalid } from '#src/core/errors.ts';
import { printable } from '#src/core/text.ts';
import { compileCheck } from '#src/core/validation.ts';
import { createKey, keyList, revokeKey } from '#src/people/apiKeys.ts';
import { commandLog, withDatabase } from './lib/database.ts';

const usage = `API keys for clients, used when AUTH_MODE is required.

  npm run -s keys -- create --name <text> --scopes read,write,admin,own [--user <id>] [--days <n>]
  npm run -s keys -- list
  npm run -s keys -- revoke <id>

  --name    what the key is for
  --scopes  what it may do, read by default; write includes read, and admin both; own is for what belongs to a user
  --user    that user, for own
  --days    until it expires; never by default

create prints only the key on standard output, and only once. Without -s, npm prints lines of its own there.

Example: npm run -s keys -- create --name shop --scopes read,write --days 90`;

const options = {
  name: { type: 'string' },
  scopes: { type: 'string' },
  user: { type: 'string' },
  days: { type: 'string' },
} as const;
type Flags = Arguments<typeof options>;
/** Checks its arguments before the database is opened, and returns the work. */
type Command = (args: Flags) => (context: Context, io: Io) => Promise<void>;

/** Prints only the key on standard output, so that it can be piped to a secret store. */
const create: Command = ({ values }) => {
  const { name = '', days } = values;
  if (days !== undefined && !/^[1-9]\d{0,4}$/.test(days)) throw new UsageError('--days must be 1 to 99999');
  const input = {
    name,
    scopes: readScopes(values.scopes),
    ...(values.user !== undefined && { userId: values.user }),
    ...(days !== undefined && { expiresAt: new Date(Date.now() + Number(days) * 86_400_000).toISOString() }),
  };
  const wrong = compileCheck(ref(ApiKeyCreate), 'body')(input);
  if (wrong) throw invalid(wrong);
  return async (context, io) => {
    const { key, ...record } = await createKey(context, input);
    io.err(`Key ${record.id} (${record.scopes.join(', ')}), shown only once:`);
    io.out(key);
  };
};

const readScopes = (text = 'read') =>
  text.split(',').map(name => {
    const scope = scopes.find(known => known === name);
    if (!scope) throw new UsageError(`--scopes must be of ${scopes.join(', ')}`);
    return scope;
  });

const keyState = ({ revokedAt, expiresAt }: ApiKey) =>
  revokedAt ? 'revoked' : expiresAt && Date.parse(expiresAt) <= Date.now() ? 'expired' : 'works';

const keyLine = (key: ApiKey) =>
  printable(
    [
      key.id,
      keyState(key),
      key.scopes.join(','),
      ...(key.userId ? [`of ${key.userId}`] : []),
      `used ${key.lastUsedAt ?? 'never'}`,
      key.name,
    ].join('  '),
  );

const list: Command = () => async (context, io) => {
  for (let page = 1; ; page++) {
    const { data, meta } = await keyList.byNumber(context, { page, limit: 100, sort: 'createdAt' });
    for (const key of data) io.out(keyLine(key));
    if (meta.total === 0) io.out('There are no keys.');
    if (page >= meta.totalPages) return;
  }
};

const revoke: Command = ({ positionals: [, id] }) => {
  if (!id) throw new UsageError('Name the id of a key');
  return async (context, io) => {
    await revokeKey(context, id);
    io.out(`Revoked ${id}. Every instance refuses it within 5 seconds.`);
  };
};

const commands: Record<string, Command> = { create, list, revoke };

async function manageKeys(args: Flags, io: Io) {
  const work = commandNamed(commands, args.positionals[0])(args);
  const actor = `command of ${userInfo().username}`;
  await withDatabase(
    io.settings(),
    io,
    parts => work(systemContext(parts, actor, 'command'), io),
    commandLog('error'),
  );
}

export const main = await mainOf(import.meta, { usage, options, most: 2, run: manageKeys });
