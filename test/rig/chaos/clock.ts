/** Loaded into a process before anything else: at SIGUSR2 its clock jumps ahead, and at the next one back. */
const jump = 4 * 60_000;
const True = Date;
let ahead = 0;
process.on('SIGUSR2', () => {
  ahead = ahead === 0 ? jump : 0;
});

class JumpingDate extends True {
  constructor(...given: [] | [number]) {
    if (given.length === 0) super(True.now() + ahead);
    else super(...given);
  }

  static override now(): number {
    return True.now() + ahead;
  }
}
globalThis.Date = JumpingDate as DateConstructor;
