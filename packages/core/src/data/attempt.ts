/** Returns undefined when the work throws: for synchronous work whose failure means no more than a missing value. Say at the call why that is so. */
export function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
