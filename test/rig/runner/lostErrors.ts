type Listener = (error: unknown, kind: string) => void;

const domains: Domain[] = [];
/** Gives an error that nobody waits for to the test that runs, unless it listens for such errors itself. */
const onError: Listener = (error, kind) => {
  if (process.listenerCount('uncaughtException') === 1) domains.at(-1)?.onerror(error, kind);
};
const onRejection = (error: unknown) => {
  if (process.listenerCount('unhandledRejection') === 1) onError(error, 'unhandledRejection');
};

/** Stands in for the one of `async-hook-domain`. The worker runs one file at a time, so the innermost test is meant. */
export class Domain {
  readonly onerror: Listener;

  constructor(onerror: Listener) {
    this.onerror = onerror;
    if (domains.push(this) > 1) return;
    process.on('uncaughtException', onError);
    process.on('unhandledRejection', onRejection);
  }

  destroy(): void {
    const index = domains.indexOf(this);
    if (index < 0) return;
    domains.splice(index, 1);
    if (domains.length > 0) return;
    process.off('uncaughtException', onError);
    process.off('unhandledRejection', onRejection);
  }
}
