/** Reads the next batch of the source while the current one is written. At most one more batch is in memory. */
export async function* readAhead<T>(batches: AsyncGenerator<T>): AsyncGenerator<T> {
  const readNext = () => {
    const next = batches.next();
    // A failure is thrown when the batch is due.
    next.catch(() => undefined);
    return next;
  };
  let next = readNext();
  try {
    for (;;) {
      const { done, value } = await next;
      if (done) return;
      next = readNext();
      yield value;
    }
  } finally {
    // The source is not in use when this ends, however it ends.
    await next.catch(() => undefined);
    await batches.return(undefined);
  }
}
