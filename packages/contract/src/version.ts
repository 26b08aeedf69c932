/**
 * Versions of the two contracts that others implement. An engine or harness value names the one it was
 * written for (`info.contract`, `harness.contract`); the host refuses or adapts without guessing.
 */
export const ENGINE_CONTRACT = "pagurus.engine/1";
export const HARNESS_CONTRACT = "pagurus.harness/2";
/** Version in the first line of a transcript file. Source: the design's "Where things live for a user". */
export const TRANSCRIPT_VERSION = 3;
