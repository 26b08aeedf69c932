/**
 * Whether turns recall passages. What that costs has limits of its own (`recall.5`), so a comparison with a program that has no recall
 * switches it off.
 */
export const WITH_RECALL = process.env["PAGURUS_BENCH_RECALL"] !== "off";
