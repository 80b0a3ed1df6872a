/**
 * The function that makes something when it is first asked for, once for all who ask. A failure is tried again, but a
 * module that threw while it was loaded fails until the process ends: Node keeps that.
 */
export function onFirstUse<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch(error => {
      made = undefined;
      throw error;
    });
    return made;
  };
}
