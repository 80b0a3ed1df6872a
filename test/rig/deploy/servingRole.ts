import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { makeFolder } from '#test/rig/process.ts';

/** Runs deploy/serving-role.sql as the owner of this database. Tests of one server give the role different names. */
export async function createServingRole(t: Test, owner: string, password: string, name = 'triport_service') {
  const folder = makeFolder(t);
  const [file, secret] = [join(folder, 'role.sql'), join(folder, 'password')];
  const statements = readFileSync('deploy/serving-role.sql', 'utf8');
  writeFileSync(file, statements.replaceAll('triport_service', name));
  writeFileSync(secret, `${password}\n`);
  const env = { ...process.env, SERVICE_PASSWORD_FILE: secret };
  await promisify(execFile)('psql', [owner, '--no-psqlrc', `--file=${file}`], { env });
}
