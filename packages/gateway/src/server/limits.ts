/** Size limits and timeouts for requests of a harness. */
export interface WireLimits {
  /** Concurrent requests of one route. */
  maxRequests: number;
  maxBodyBytes: number;
  /** Called with the length of each piece of a body; a sentence refuses it as `overloaded`. Absent: none is refused. */
  onBytes?(bytes: number): string | undefined;
  /** Request line and headers. */
  maxHeaderBytes: number;
  /** Timeout for the head of a request, from its first byte. */
  headMs: number;
  /** Timeout for a body without new data. */
  bodyStallMs: number;
  /** Time for a client to read a refusal before it has sent all of its request. */
  lingerMs: number;
  /** Time for streams to end by themselves when their route closes. */
  closeMs: number;
  /** Idle timeout of a keep-alive connection. Longer than the clients' own, so a client never reuses a connection that we closed. */
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
