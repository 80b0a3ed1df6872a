import type { Violation } from '#schemas/parts/error.ts';
import { AppError, invalid, refusal } from '#src/core/errors.ts';

/** How far somebody has read the changes of records. */
export interface ChangePosition {
  /** When `seen` was up to date, in ms since 1970. */
  time: number;
  /** A snapshot of the database: what it sees was read, and what it does not see is new. */
  seen: string;
  /** The later snapshot up to which changes are being read, and the number of the last change that was read. */
  until?: { seen: string; after: number };
}

/** The text of a position, which clients send back as it is. */
export const positionText = ({ time, seen, until }: ChangePosition): string =>
  [time, seen, ...(until ? [until.seen, until.after] : [])].join('.');

/** Identifies a position regardless of its time. */
export const positionKey = (position: ChangePosition) => positionText({ ...position, time: 0 });

const snapshot = '\\d{1,19}:\\d{1,19}:(?:\\d{1,19}(?:,\\d{1,19})*)?';
const shape = new RegExp(`^(\\d{1,15})\\.(${snapshot})(?:\\.(${snapshot})\\.(\\d{1,15}))?$`);

/** What a client sent as a position, if anything, and where. */
export interface SentPosition extends Pick<Violation, 'in' | 'path'> {
  text: string | undefined;
}

export function readPosition(sent: SentPosition): ChangePosition {
  const [match, time, seen = '', later, after] = shape.exec(sent.text ?? '') ?? [];
  if (!match) throw badPosition(sent);
  return { time: Number(time), seen, ...(later && { until: { seen: later, after: Number(after) } }) };
}

export const badPosition = ({ in: part, path }: SentPosition) =>
  invalid([{ in: part, path, message: 'is not a position in the changes' }]);

export const positionGone = refusal(
  'The changes after this position are not kept any more: read all records again.',
  () =>
    new AppError('gone', 'The changes after this position are not kept any more. Read all records again.'),
);
