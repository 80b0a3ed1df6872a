/** Moves the clock of the process that preloads this: ahead on one SIGUSR2, and back on the next. */
const jump = 4 * 60_000;
const RealDate = Date;
let ahead = 0;
process.on('SIGUSR2', () => {
  ahead = ahead === 0 ? jump : 0;
});

class JumpingDate extends RealDate {
  constructor(...args: [] | [number]) {
    if (args.length === 0) super(RealDate.now() + ahead);
    else super(...args);
  }

  static override now(): number {
    return RealDate.now() + ahead;
  }
}
globalThis.Date = JumpingDate as DateConstructor;
