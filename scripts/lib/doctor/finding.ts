import type { Settings } from '../../../schemas/settings.ts';
import { OperatorError } from '../../../src/core/errors.ts';

export interface Finding {
  level: 'ok' | 'warning' | 'problem';
  /** What was found and, unless all is well, what to do. Never a secret, and never a URL that may hold one. */
  text: string;
}

/** What is checked: the settings of this process, and how many processes have them. */
export interface Deployment {
  settings: Settings;
  servers: number;
  workers: number;
}

export type Findings = AsyncGenerator<Finding, void, undefined>;
export type Check = (deployment: Deployment) => Findings;

export const countOf = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;
export const ok = (text: string): Finding => ({ level: 'ok', text });
export const warning = (text: string): Finding => ({ level: 'warning', text });
export const problem = (text: string): Finding => ({ level: 'problem', text });

/** Why something on the network cannot be used, and what to try. */
export function unreachable(name: string, error: unknown): Finding {
  const { code, message } = deepest(error);
  if (code === 'ECONNREFUSED')
    return problem(`${name} cannot be reached: nothing listens there. Start it, or correct host and port.`);
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return problem(`${name} cannot be reached: this machine does not know its host name. Correct it.`);
  if (/TIMEOUT|TIMEDOUT|UNREACH/i.test(code) || /time(d )?out/i.test(message))
    return problem(`${name} does not answer. Is it stopped, or does a firewall keep this machine out?`);
  if (/CERT|SSL|TLS|LEAF_SIGNATURE/.test(code))
    return problem(`${name} has a certificate that is refused: ${message}. Install one for its host name.`);
  return problem(`${name} cannot be used: ${withoutEnd(message || code || String(error))}.`);
}

const withoutEnd = (text: string) => text.replace(/\.+$/, '');

/** `fetch` and drivers put the reason into the cause. */
function deepest(error: unknown): { code: string; message: string } {
  if (!(error instanceof Error)) return { code: '', message: String(error) };
  if (error.cause instanceof Error) return deepest(error.cause);
  const { code = '' } = error as { code?: unknown };
  return { code: String(code), message: error.message };
}

/** Milliseconds. Webhook signatures and tokens bear more than this, but times in the data come from all clocks. */
const noticeable = 2000;
/** As much as the times of a token may be off. */
const tooMuch = 30_000;

/** Compares the clock of this machine with another one, of which `read` returns the milliseconds since 1970. */
export async function compareClocks(name: string, read: () => Promise<number>): Promise<Finding> {
  const before = Date.now();
  const theirs = await read();
  const after = Date.now();
  // What the journey of the answer explains is no difference.
  const ahead = before > theirs ? before - theirs : Math.min(0, after - theirs);
  const text = `The clock here is ${seconds(ahead)} ${ahead < 0 ? 'behind' : 'ahead of'} that of ${name}`;
  if (Math.abs(ahead) < noticeable) return ok(`The clock agrees with that of ${name}.`);
  if (Math.abs(ahead) < tooMuch) return warning(`${text}. Let NTP set both.`);
  return problem(`${text}: tokens and signatures that are valid will be refused. Let NTP set both.`);
}

const seconds = (milliseconds: number) => `${Math.round(Math.abs(milliseconds) / 1000)} s`;

/** Milliseconds that one check may take: a server that falls silent must not hold up the report. */
const timeLimit = 20_000;

/** Runs one check to its end; a failure is one of its findings. */
export async function* run(check: Check, deployment: Deployment): Findings {
  const findings = check(deployment);
  const late = AbortSignal.timeout(timeLimit);
  const tooLate = new Promise<never>((_, reject) =>
    late.addEventListener('abort', () => reject(new Error('there was no answer for 20 s'))),
  );
  try {
    for (;;) {
      const { done, value } = await Promise.race([findings.next(), tooLate]);
      if (done || !value) return;
      yield value;
    }
  } catch (error) {
    if (error instanceof OperatorError) yield problem(error.message);
    else yield problem(`A check could not be completed: ${withoutEnd(deepest(error).message)}.`);
  }
}
