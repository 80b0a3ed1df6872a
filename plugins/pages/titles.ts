import type { TObject } from '@sinclair/typebox';
import { idPattern } from '#schemas/parts/common.ts';

/** The member whose text stands for a record: the first that is neither an id nor one of few words. */
export const titleOf = ({ contract: { record } }: { contract: { record: TObject } }): string | null =>
  Object.entries(record.properties).find(
    ([, { type, pattern, format, ...member }]) =>
      type === 'string' && pattern !== idPattern && !member.enum && !(format ?? '').startsWith('date'),
  )?.[0] ?? null;
