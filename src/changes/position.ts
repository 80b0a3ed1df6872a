import { idPattern } from '#schemas/parts/common.ts';
import type { Violation } from '#schemas/parts/error.ts';
import { AppError, invalid, refusal } from '#src/core/errors.ts';

/**
 * How far somebody has read the changes of records: the number of the last one, and the id of its entry in the audit
 * log. A database that was set back has another entry at the number, or none.
 */
export type ChangePosition = `${number}.${string}`;

const shape = new RegExp(idPattern.replace('^', '^\\d{1,15}\\.'));

/** What a client sent as a position, if anything, and where. */
export interface SentPosition extends Pick<Violation, 'in' | 'path'> {
  text: string | undefined;
}

export function readPosition({ in: part, path, text = '' }: SentPosition): ChangePosition {
  if (!shape.test(text)) throw invalid([{ in: part, path, message: 'is not a position in the changes' }]);
  return text as ChangePosition;
}

export const positionGone = refusal(
  'The changes after this position are not kept any more: read all records again.',
  () =>
    new AppError('gone', 'The changes after this position are not kept any more. Read all records again.'),
);
