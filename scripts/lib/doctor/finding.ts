import type { Settings } from '#schemas/settings.ts';

export interface Finding {
  level: 'ok' | 'warning' | 'problem';
  /** The name of the finding for machines, which stays the same. */
  code: string;
  /** A sentence that says what to do unless all is well. It has no secret, and no URL that may hold one. */
  text: string;
}

/** What is checked, and how many processes have these settings. */
export interface Deployment {
  settings: Settings;
  servers: number;
  workers: number;
  report: (level: Finding['level'], code: string, text: string) => void;
}

/** Compares the clock of this machine with another one, of which `read` returns the milliseconds since 1970. */
export async function checkClock({ report }: Deployment, code: string, read: () => Promise<number>) {
  const before = Date.now();
  const theirs = await read();
  // A difference that the journey of the answer explains does not count.
  const ahead = Math.max(0, before - theirs) + Math.min(0, Date.now() - theirs);
  const seconds = Math.round(Math.abs(ahead) / 1000);
  const text = `The clock here is ${seconds} s ${ahead < 0 ? 'behind' : 'ahead'}: let NTP set both.`;
  // The service tolerates 30 s in the times of tokens.
  if (seconds >= 2) report(seconds < 30 ? 'warning' : 'problem', code, text);
}
