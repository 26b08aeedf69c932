/**
 * How long mails are tried again that the server refuses for now. Mails are sent in order, so the others wait meanwhile: the time is
 * limited, also for many mails to one domain.
 */

/** Time for which a domain's mails are tried again, ms: greylisting takes 5 minutes. */
const RETRIED_MS = 15 * 60_000;
/** Time after the first refusal at which it is forgotten, ms. */
const KEPT_MS = 60 * 60_000;

export class TemporaryRefusals {
  readonly #now: () => number;
  /** Time of the first refusal since a mail was taken, by domain, ms since the epoch. */
  readonly #since = new Map<string, number>();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Notes a refusal of an address; true: the mail is to be tried again. */
  isRetried(address: string): boolean {
    const now = this.#now();
    for (const [domain, since] of this.#since) if (now - since > KEPT_MS) this.#since.delete(domain);
    const domain = domainOf(address);
    const since = this.#since.get(domain) ?? now;
    this.#since.set(domain, since);
    return now - since < RETRIED_MS;
  }

  /** Notes that a mail to an address was taken. */
  end(address: string): void {
    this.#since.delete(domainOf(address));
  }
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf("@") + 1).toLowerCase();
}
