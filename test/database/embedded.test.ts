import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { openEmbedded } from '../../src/database/embedded/embedded.ts';
import { testLog } from '../helper/database.ts';

// A cold start takes seconds, more on a busy machine.

t.test('a failed start releases the folder', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'triport-embedded-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'postgres'), 'in the way');
  await t.rejects(openEmbedded({ folder }, testLog));
  rmSync(join(folder, 'postgres'));
  const database = await openEmbedded({ folder }, testLog);
  await database.close();
});
