import { userInfo } from 'node:os';
import { type ApiKey, ApiKeyCreate, type Scope } from '../schemas/apiKey.ts';
import { commandNamed, type Given, loadSettings, runCommand, UsageError } from '../src/command.ts';
import { type Context, systemContext } from '../src/core/context.ts';
import { invalid } from '../src/core/errors.ts';
import { openLog } from '../src/core/log.ts';
import { compileCheck } from '../src/core/validation.ts';
import { openDatabase } from '../src/database/open.ts';
import { createKey, listKeys, revokeKey } from '../src/services/apiKeys.ts';

const usage = `Keys for those who call, while AUTH_MODE is required.

  npm run -s keys -- create --name <text> --scopes read,write,admin [--days <n>]
  npm run -s keys -- list
  npm run -s keys -- revoke <id>

create prints the key alone on standard output, once. Without -s, npm would print lines of its own there.`;

const options = { name: { type: 'string' }, scopes: { type: 'string' }, days: { type: 'string' } } as const;
type Flags = Given<typeof options>;

/** Prints the key alone on standard output, so that it can go straight to where it is kept. */
async function create(context: Context, { values }: Flags): Promise<void> {
  const { days } = values;
  if (days !== undefined && !/^[1-9]\d{0,4}$/.test(days)) throw new UsageError('--days must be 1 to 99999');
  const input = {
    name: values.name ?? '',
    scopes: (values.scopes ?? 'read').split(',') as Scope[],
    ...(days !== undefined && { expiresAt: new Date(Date.now() + Number(days) * 86_400_000).toISOString() }),
  };
  const wrong = compileCheck(ApiKeyCreate, 'body')(input);
  if (wrong) throw invalid(wrong);
  const { key, ...record } = await createKey(context, input);
  console.error(`Key ${record.id} (${record.scopes.join(', ')}), shown this once:`);
  console.log(key);
}

const stateOf = ({ revokedAt, expiresAt }: ApiKey) =>
  revokedAt ? 'revoked' : expiresAt && Date.parse(expiresAt) <= Date.now() ? 'expired' : 'works';

async function list(context: Context): Promise<void> {
  for (let page = 1; ; page++) {
    const { data, meta } = await listKeys(context, { page, limit: 100, sort: 'createdAt' });
    for (const key of data)
      console.log(
        [key.id, stateOf(key), key.scopes.join(','), `used ${key.lastUsedAt ?? 'never'}`, key.name].join(
          '  ',
        ),
      );
    if (page >= meta.totalPages) return;
  }
}

async function revoke(context: Context, { positionals: [, id = ''] }: Flags): Promise<void> {
  await revokeKey(context, id);
  console.log(`Revoked ${id}. It ends on every instance within 5 seconds.`);
}

const commands: Record<string, (context: Context, given: Flags) => Promise<void>> = { create, list, revoke };

async function main(given: Flags) {
  const run = commandNamed(commands, given.positionals[0]);
  const settings = { ...loadSettings(), LOG_LEVEL: 'error' as const };
  const log = openLog(settings, false);
  const database = await openDatabase(settings, log);
  try {
    await database.ready;
    await run(
      systemContext({ db: database.writes, log }, `command of ${userInfo().username}`, 'command'),
      given,
    );
  } finally {
    await database.close();
  }
}

await runCommand({ usage, options, most: 2, run: main });
