/** Limits of one token: requests a second, and open streams. */

export interface RateLimitSettings {
  /** Requests a second over time. */
  perSecond: number;
  /** Requests at once. */
  burst: number;
  openStreams: number;
}

const RATE_LIMITS: RateLimitSettings = { perSecond: 500, burst: 2_000, openStreams: 600 };

interface Bucket {
  left: number;
  at: number;
  streams: number;
}

export class RateLimits {
  readonly #settings: RateLimitSettings;
  readonly #buckets = new Map<string, Bucket>();

  constructor(settings: RateLimitSettings = RATE_LIMITS) {
    this.#settings = settings;
  }

  /** Takes one request; returns the seconds to wait where there is none left. */
  take(tokenId: string): number {
    const { perSecond, burst } = this.#settings;
    const bucket = this.#bucket(tokenId);
    const now = performance.now();
    bucket.left = Math.min(burst, bucket.left + ((now - bucket.at) / 1_000) * perSecond);
    bucket.at = now;
    if (bucket.left < 1) return Math.ceil((1 - bucket.left) / perSecond);
    bucket.left -= 1;
    return 0;
  }

  /** Opens a stream; undefined where the token has too many. The returned function ends it. */
  stream(tokenId: string): (() => void) | undefined {
    const bucket = this.#bucket(tokenId);
    if (bucket.streams >= this.#settings.openStreams) return undefined;
    bucket.streams += 1;
    let isOpen = true;
    return () => {
      if (isOpen) bucket.streams -= 1;
      isOpen = false;
    };
  }

  #bucket(tokenId: string): Bucket {
    let bucket = this.#buckets.get(tokenId);
    if (!bucket) {
      bucket = { left: this.#settings.burst, at: performance.now(), streams: 0 };
      this.#buckets.set(tokenId, bucket);
    }
    return bucket;
  }
}
