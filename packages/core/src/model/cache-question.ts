/** The question for the provider's diagnosis of cache misses, in one request. */
import type { CacheReport } from "@pagurus/contract/session/receipt";
import type { CacheDiagnosing } from "./quirks/cache-diagnosis.ts";
import type { QuirkTarget } from "./quirks/quirk-kinds.ts";
import { quirksOf } from "./quirks/quirk-table.ts";

/** Endpoints and models that rejected the question, in this process. */
const REJECTED = new Set<string>();
/** Names in the text of a rejection. */
const OWN_NAMES = /diagnostics|previous_message_id|prompt_cache_options|comparison_response_id/;

export interface CacheQuestionTarget {
  info: QuirkTarget;
  /** A name of the endpoint: its address, or that of an upstream. */
  baseUrl: string;
  /** As in `ResolvedModel`. */
  diagnosesCache?: boolean;
}

export class CacheQuestion {
  /** Name of the member that the question is. */
  readonly name: string | undefined;
  readonly #endpoint: string;
  readonly #previousId: string | null;
  readonly #member: string;
  #report: CacheReport = {};

  private constructor(diagnosing: CacheDiagnosing, endpoint: string, previousId: string | null) {
    this.#endpoint = endpoint;
    this.#previousId = previousId;
    const [name, value] = diagnosing.member(previousId) ?? [];
    this.name = name;
    this.#member = name === undefined ? "" : `,${JSON.stringify(name)}:${JSON.stringify(value)}`;
  }

  /** `previousId`: as in `ModelRequest.previousResponseId`. Undefined where nothing is to be asked. */
  static of(
    { info, baseUrl, diagnosesCache }: CacheQuestionTarget,
    previousId: string | null | undefined,
  ): CacheQuestion | undefined {
    const { cacheDiagnosis } = quirksOf(info);
    const endpoint = `${baseUrl} ${info.id}`;
    if (diagnosesCache !== true || previousId === undefined) return undefined;
    if (!cacheDiagnosis || REJECTED.has(endpoint)) return undefined;
    return new CacheQuestion(cacheDiagnosis, endpoint, previousId);
  }

  /** The JSON body of a request, or its end, with the question. */
  addedTo(body: string): string {
    const end = body.lastIndexOf("}");
    return `${body.slice(0, end)}${this.#member}${body.slice(end)}`;
  }

  /** Takes what is known of the answer. */
  take({ responseId, diagnosis }: CacheReport): void {
    if (responseId !== undefined) this.#report.responseId = responseId;
    // Without an earlier answer there is nothing that it can be of.
    if (diagnosis && this.#previousId !== null) this.#report.diagnosis = diagnosis;
  }

  /** What the complete answer reports. */
  report(): CacheReport {
    return this.#previousId === null ? this.#report : { diagnosis: { reason: "none" }, ...this.#report };
  }

  /** Whether the endpoint rejected a request for the question: it is not asked again. */
  isRejected(message: string): boolean {
    if (!OWN_NAMES.test(message)) return false;
    REJECTED.add(this.#endpoint);
    return true;
  }
}
