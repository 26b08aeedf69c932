/** The question for the provider's diagnosis of cache misses, in one call. */
import type { CacheReport } from "../contract/session/receipt.ts";
import type { CacheDiagnosing } from "./quirks/cache-diagnosis.ts";
import { quirksOf } from "./quirks/quirk-table.ts";
import type { ModelRequest, ResolvedModel } from "./provider-types.ts";

/** Endpoints and models that rejected the question, in this process. */
const REJECTED = new Set<string>();
/** Names in the text of a rejection. */
const OWN_NAMES = /diagnostics|previous_message_id|prompt_cache_options|comparison_response_id/;

export class CacheQuestion {
  readonly #diagnosing: CacheDiagnosing;
  readonly #name: string;
  readonly #previousId: string | null;
  #report: CacheReport = {};

  private constructor(diagnosing: CacheDiagnosing, name: string, previousId: string | null) {
    this.#diagnosing = diagnosing;
    this.#name = name;
    this.#previousId = previousId;
  }

  /** Undefined where nothing is to be asked. */
  static of(model: ResolvedModel, { previousResponseId }: ModelRequest): CacheQuestion | undefined {
    const { info, baseUrl, diagnosesCache } = model;
    const { cacheDiagnosis } = quirksOf(info);
    const name = `${baseUrl} ${info.id}`;
    if (diagnosesCache !== true || previousResponseId === undefined) return undefined;
    if (!cacheDiagnosis || REJECTED.has(name)) return undefined;
    return new CacheQuestion(cacheDiagnosis, name, previousResponseId);
  }

  /** Adds the question to a JSON body. */
  edit(body: string): string {
    const member = this.#diagnosing.member(this.#previousId);
    if (!member) return body;
    const [name, value] = member;
    return `${body.slice(0, body.lastIndexOf("}"))},${JSON.stringify(name)}:${JSON.stringify(value)}}`;
  }

  answeredAs(responseId: string | undefined): void {
    if (responseId !== undefined) this.#report.responseId = responseId;
  }

  /** Takes an event of the answer as the provider sent it. */
  take(event: unknown): void {
    const diagnosis = this.#previousId === null ? undefined : this.#diagnosing.read(event);
    if (diagnosis) this.#report.diagnosis = diagnosis;
  }

  /** What the complete answer reports. */
  report(): CacheReport {
    return this.#previousId === null ? this.#report : { diagnosis: { reason: "none" }, ...this.#report };
  }

  /** Whether the endpoint rejected a request for the question: it is not asked again. */
  isRejected(failure: { code: string; message: string }): boolean {
    if (failure.code !== "model_bad_request" || !OWN_NAMES.test(failure.message)) return false;
    REJECTED.add(this.#name);
    return true;
  }
}
