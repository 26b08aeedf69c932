/** Longest wait for a frame, ms: a page in the background gets none. */
const MOST_MS = 100;

/** Resolves when the browser has painted what is rendered now. */
export function painted(): Promise<void> {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, MOST_MS);
  });
}
