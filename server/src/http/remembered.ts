/** Asks once and remembers the answer. A failure is not remembered: whoever comes next asks again. */
export function remembered<T>(ask: () => Promise<T>): () => Promise<T> {
  let held: Promise<T> | undefined;
  return () => {
    held ??= ask().catch((error) => {
      held = undefined;
      throw error;
    });
    return held;
  };
}
