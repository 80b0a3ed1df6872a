import type { Violation } from '#schemas/parts/error.ts';
import { AppError, invalid, refusal } from '#src/core/errors.ts';

/** How far somebody has read the changes of records. */
export interface ChangePosition {
  /** The number of the last change that was read; 0 before the first one. */
  number: number;
  /** The id of its entry in the audit log: a database that was set back has another one at the number. */
  entry: string;
}

/** The text of a position, which clients send back as it is. */
export const positionText = ({ number, entry }: ChangePosition): string => `${number}.${entry}`;

export const isSame = (one: ChangePosition, other: ChangePosition) =>
  one.number === other.number && one.entry === other.entry;

const shape = /^(\d{1,15})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** What a client sent as a position, if anything, and where. */
export interface SentPosition extends Pick<Violation, 'in' | 'path'> {
  text: string | undefined;
}

export function readPosition({ in: part, path, text = '' }: SentPosition): ChangePosition {
  const [, number, entry] = shape.exec(text) ?? [];
  if (entry === undefined) throw invalid([{ in: part, path, message: 'is not a position in the changes' }]);
  return { number: Number(number), entry };
}

export const positionGone = refusal(
  'The changes after this position are not kept any more: read all records again.',
  () =>
    new AppError('gone', 'The changes after this position are not kept any more. Read all records again.'),
);
