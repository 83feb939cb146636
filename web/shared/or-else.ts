/** The result, or another value if there is none because it throws. */
export function orElse<T, U>(work: () => T, other: U): T | U {
  try {
    return work();
  } catch {
    return other;
  }
}
