import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { parseArgs } from 'node:util';
import { type ApiKey, ApiKeyCreate, type Scope } from '../schemas/apiKey.ts';
import { readSettings } from '../src/core/config.ts';
import { type Context, systemContext } from '../src/core/context.ts';
import { AppError } from '../src/core/errors.ts';
import { openLog } from '../src/core/log.ts';
import { openDatabase } from '../src/core/openDatabase.ts';
import { compileCheck } from '../src/core/validation.ts';
import { createKey, listKeys, revokeKey } from '../src/services/apiKeys.ts';

const usage = `npm run keys -- create --name <text> --scopes read,write,admin [--days <n>]
npm run keys -- list
npm run keys -- revoke <id>`;

const options = { name: { type: 'string' }, scopes: { type: 'string' }, days: { type: 'string' } } as const;
type Given = ReturnType<typeof parseArgs<{ options: typeof options; allowPositionals: true }>>;

/** Prints the key alone on standard output, so that it can go straight to where it is kept. */
async function create(context: Context, { values }: Given): Promise<void> {
  const { days } = values;
  if (days !== undefined && !/^[1-9]\d{0,4}$/.test(days)) throw new Error('--days must be 1 to 99999');
  const input = {
    name: values.name ?? '',
    scopes: (values.scopes ?? 'read').split(',') as Scope[],
    ...(days !== undefined && { expiresAt: new Date(Date.now() + Number(days) * 86_400_000).toISOString() }),
  };
  const wrong = compileCheck(ApiKeyCreate, 'body')(input);
  if (wrong) throw new Error(wrong.map(({ path, message }) => `${path.slice(1)} ${message}`).join('\n'));
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

async function revoke(context: Context, { positionals: [, id = ''] }: Given): Promise<void> {
  await revokeKey(context, id);
  console.log(`Revoked ${id}. It ends on every instance within 5 seconds.`);
}

const commands = new Map(Object.entries({ create, list, revoke }));

async function main() {
  const given = parseArgs({ allowPositionals: true, options });
  const run = commands.get(given.positionals[0] ?? '');
  if (run === undefined) throw new Error(usage);
  if (existsSync('.env')) process.loadEnvFile('.env');
  const settings = { ...readSettings(process.env), LOG_LEVEL: 'error' as const };
  const database = await openDatabase(settings, openLog(settings, false));
  try {
    await database.ready;
    await run(systemContext(database.orm, `command of ${userInfo().username}`, 'command'), given);
  } finally {
    await database.close();
  }
}

main().catch((error: Error) => {
  const details = error instanceof AppError && Array.isArray(error.details) ? error.details : [];
  console.error(
    [error.message, ...details.map(({ path, message }) => `${path.slice(1)} ${message}`)].join('\n'),
  );
  process.exitCode = 1;
});
