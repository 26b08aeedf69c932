/** The reason of a degradation: an answer carried parts that its message does not have. `lost`: as in `ReadAnswer.degraded`. */
export function lostParts(lost: readonly string[]): string {
  return `the answer carried ${lost.join(", ")}, which its message does not have`;
}
