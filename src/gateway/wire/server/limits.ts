/** How much a harness may ask of the gateway, and how long it may take over it. */
export interface WireLimits {
  /** Of one route at once. */
  maxRequests: number;
  maxBodyBytes: number;
  /** Request line and headers. */
  maxHeaderBytes: number;
  /** For the head of a request, from its first byte on. */
  headMs: number;
  /** A body of which nothing comes for so long is given up. */
  bodyStallMs: number;
  /** For a client to take a refusal before it has sent all of its request. */
  lingerMs: number;
  /** For streams to end by themselves when their route closes. */
  closeMs: number;
  /** For a connection without a request. Longer than clients keep theirs, so that it is never they who meet a closed one. */
  keepAliveMs: number;
}

export const WIRE_LIMITS: WireLimits = {
  maxRequests: 256,
  maxBodyBytes: 64 * 2 ** 20,
  maxHeaderBytes: 16 * 2 ** 10,
  headMs: 60_000,
  bodyStallMs: 60_000,
  lingerMs: 2_000,
  closeMs: 2_000,
  keepAliveMs: 300_000,
};
