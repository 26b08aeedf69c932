/**
 * A module that is loaded when it is first needed. `import()` of a loaded module still takes a tenth of a millisecond. A failed load is
 * tried again by the next call.
 */
export function loadOnce<M>(load: () => Promise<M>): () => Promise<M> {
  let loaded: M | undefined;
  return async () => (loaded ??= await load());
}
