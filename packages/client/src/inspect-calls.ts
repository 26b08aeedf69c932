/** Calls with which the inspector reads a session. Each method throws `ClientError`, or the reason of its signal. */
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import type { AgentOptions, PageOptions } from "./call-options.ts";
import type { HttpRequests } from "./http-requests.ts";
import type {
  Branching,
  InspectedCompaction,
  InspectedPart,
  InspectedRequest,
  LeftOutEntry,
  LeftOutSum,
  RedactedKind,
  RequestCurve,
  RequestDetails,
  RequestDiff,
  RuntimeSwitch,
  SessionUsage,
  TimelineItem,
  TimelinePlace,
} from "@pagurus/api/types";

/** The page that ends before an item. */
export interface BeforeOptions extends PageOptions {
  before?: string | undefined;
}
/** The page that begins with an index. */
export interface FromOptions extends PageOptions {
  from?: number | undefined;
}
interface Page {
  /** Number of all. */
  total: number;
}
interface BeforePage extends Page {
  /** `before` of the next page; absent at the beginning of the session. */
  next?: string;
}
interface FromPage extends Page {
  /** `from` of the next page; absent at the end. */
  next?: number;
}

function at(key: string, ...rest: readonly string[]): string {
  return ["/sessions", key, ...rest]
    .map((word, index) => (index === 0 ? word : encodeURIComponent(word)))
    .join("/");
}

export class InspectCalls {
  readonly #http: HttpRequests;

  constructor(http: HttpRequests) {
    this.#http = http;
  }

  #get<T>(path: string, { signal, ...query }: AgentOptions): Promise<T> {
    return this.#http.json({ method: "GET", path, query, signal });
  }

  /** Of the current generation. */
  usage(key: string, options: AgentOptions = {}): Promise<SessionUsage> {
    return this.#get(at(key, "usage"), options);
  }

  /** The newest model requests, or those before one; oldest first. */
  requests(
    key: string,
    options: BeforeOptions & { turn?: string | undefined } = {},
  ): Promise<BeforePage & { requests: InspectedRequest[] }> {
    return this.#get(at(key, "requests"), options);
  }

  /** Context size, cache and cost of a session's own requests, oldest first; `points` at most, by default 400. */
  curve(key: string, options: AgentOptions & { points?: number | undefined } = {}): Promise<RequestCurve> {
    return this.#get(at(key, "curve"), options);
  }

  request(key: string, id: string, options: AgentOptions = {}): Promise<RequestDetails> {
    return this.#get(at(key, "requests", id), options);
  }

  /** Parts of the body in order. */
  parts(key: string, id: string, options: FromOptions = {}): Promise<FromPage & { parts: InspectedPart[] }> {
    return this.#get(at(key, "requests", id, "parts"), options);
  }

  /** Bytes of the body from `from` to before `to`, at most 262,144. */
  async body(
    key: string,
    id: string,
    { from, to, agent, signal }: AgentOptions & { from: number; to: number },
  ): Promise<Uint8Array> {
    const path = at(key, "requests", id, "body");
    const answer = await this.#http.once({ method: "GET", path, query: { agent, from, to }, signal });
    return new Uint8Array(await answer.arrayBuffer());
  }

  /** A session, or one request of it, as one HTML file; secrets are masked always. */
  async report(
    key: string,
    {
      request,
      redact = [],
      agent,
      signal,
    }: AgentOptions & { request?: string | undefined; redact?: readonly RedactedKind[] } = {},
  ): Promise<Uint8Array> {
    const query = { agent, request, redact: redact.join(",") };
    const answer = await this.#http.once({ method: "GET", path: at(key, "report"), query, signal });
    return new Uint8Array(await answer.arrayBuffer());
  }

  /** The changes since another request, by default the one before of the same runtime. */
  diff(
    key: string,
    id: string,
    options: AgentOptions & { since?: string | undefined } = {},
  ): Promise<RequestDiff> {
    return this.#get(at(key, "requests", id, "diff"), options);
  }

  /** Entries that the request did not hold, oldest first; `known` is false for a request without a receipt. */
  leftOut(
    key: string,
    id: string,
    options: FromOptions = {},
  ): Promise<FromPage & { known: boolean; sums: LeftOutSum[]; entries: LeftOutEntry[] }> {
    return this.#get(at(key, "requests", id, "left-out"), options);
  }

  /**
   * The newest items, or those before one; oldest first. `atOnce` does not wait until the server has read a long session: an answer
   * without `total` and `next` has some of its newest items. `entry`: the answer has the place of the item that this entry belongs to,
   * where there is one.
   */
  timeline(
    key: string,
    options: BeforeOptions & { atOnce?: boolean; entry?: string } = {},
  ): Promise<{ items: TimelineItem[]; total?: number; next?: string; place?: TimelinePlace }> {
    const { atOnce, ...rest } = options;
    return this.#get(at(key, "timeline"), { ...rest, ...(atOnce === true ? { atOnce: "true" } : {}) });
  }

  /** Where the conversation was continued in several ways, and where another runtime took over. */
  branches(
    key: string,
    options: AgentOptions = {},
  ): Promise<{ branches: Branching[]; switches: RuntimeSwitch[] }> {
    return this.#get(at(key, "branches"), options);
  }

  compactions(
    key: string,
    options: BeforeOptions = {},
  ): Promise<BeforePage & { compactions: InspectedCompaction[] }> {
    return this.#get(at(key, "compactions"), options);
  }

  async summary(
    key: string,
    { entryId, id, ...options }: AgentOptions & { entryId: string; id: string },
  ): Promise<string> {
    const path = at(key, "compactions", entryId, "summaries", id);
    return (await this.#get<{ text: string }>(path, options)).text;
  }

  /** One entry, on or off the path, of the generation `session` (default: the current one); `cut` is the beginning of the JSON of one that is longer than 256 KiB. */
  entry(
    key: string,
    id: string,
    options: AgentOptions & { session?: string | undefined } = {},
  ): Promise<{ entry?: TranscriptEntry; cut?: string; bytes: number }> {
    return this.#get(at(key, "entries", id), options);
  }
}
