import { AppError, refusal } from './errors.ts';

/** A check of a version: returns the name of the part of the request that excludes it, or undefined. */
export type Condition = (version?: number) => 'If-Match' | 'If-None-Match' | 'expectedVersion' | undefined;

/**
 * Fails if the condition excludes the version. Call it under the lock of the record, so that no other change comes
 * between the check and the write. Only `*` matches what exists without a version, such as a list.
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
