const steps = 10;

/**
 * Calls `act` after some milliseconds; returns how to prevent that. While a process stands still, answers to it wait
 * too, so a standstill counts as one step only, however long it is.
 */
export function afterAwake(milliseconds: number, act: () => void): () => void {
  let step = 0;
  const timer = setInterval(() => {
    if (++step < steps) return;
    clearInterval(timer);
    act();
  }, milliseconds / steps).unref();
  return () => clearInterval(timer);
}
