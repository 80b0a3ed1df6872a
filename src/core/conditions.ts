import { AppError, refusal } from './errors.ts';

/** What a request requires of a version: the name of its part that excludes it, or undefined. */
export type Condition = (version?: number) => 'If-Match' | 'If-None-Match' | 'expectedVersion' | undefined;

/**
 * Call it under the lock of the record: no other change can come between the check and the write. Something without a
 * version is there all the same: only `*` matches it.
 */
export function requireVersion(condition: Condition | undefined, version?: number): void {
  const excludedBy = condition?.(version);
  if (excludedBy === undefined) return;
  if (version !== undefined) throw versionMismatch(excludedBy, version);
  throw new AppError('version_mismatch', `${excludedBy} excludes every state of this path.`);
}

export const versionMismatch = refusal(
  '`If-Match` or `If-None-Match` excludes what is there. For a record, `ETag` and `details.version` are those of now.',
  (excludedBy: string, version: number) => {
    const message = `The record is at version ${version}, which ${excludedBy} excludes. Read it again.`;
    return new AppError('version_mismatch', message, { code: 'version_mismatch', version });
  },
  'If-Match',
  3,
);

export const expectVersion =
  (expected: number): Condition =>
  version =>
    version === expected ? undefined : 'expectedVersion';
