/** Pauses between the tries of what failed, doubled with each failure. */

export interface BackOff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** Pause after the `failures`th failure in a row: `backOffMs(3, { firstMs: 20, longestMs: 400 })` is 80. */
export function backOffMs(failures: number, { firstMs, longestMs }: BackOff): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 40));
}
