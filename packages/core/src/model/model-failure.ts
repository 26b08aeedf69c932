/** Classifies a failed call: its error, whether a retry can help, and after what pause. */
import { PagurusError, type ErrorCode } from "@pagurus/contract/errors";
import { recordOf } from "../data/record-fields.ts";
import { withoutAuthScheme } from "../data/secret-mask.ts";
import type { AnswerError } from "../protocols/answer-reader.ts";
import { failureReasonOf } from "./failure-reason.ts";
import { nearest } from "../platform/nearest.ts";
import {
  saysBadRequest,
  saysContextOverflow,
  saysNoSuchModel,
  saysQuotaUsedUp,
  saysStaleThinking,
} from "./quirks/error-phrases.ts";
import { quirksOf } from "./quirks/quirk-table.ts";
import { redact } from "./secret.ts";
import type { ResolvedModel } from "./provider-types.ts";
import { defined } from "../data/defined.ts";

export interface Failure {
  error: PagurusError;
  /** Number of useful retries for this kind of failure; 0: final. */
  retries: number;
  /** The server's `retry-after`, ms. */
  retryAfterMs?: number;
  /** The provider can no longer read its signed thinking: the key's account changed, or the messages before it. */
  staleThinking?: boolean;
}

/** Facts of a thrown value. */
interface Facts {
  status?: number;
  code: string;
  message: string;
  body: string;
  headers: Readonly<Record<string, string>>;
  /** Codes and messages down the chain of causes. */
  causes: string;
}

/** An error that the server reports: an HTTP status with its body, or an error in the answer. */
export class ServerError extends Error {
  override readonly name = "ServerError";
  readonly error: AnswerError;
  readonly headers: Readonly<Record<string, string>>;

  constructor(error: AnswerError, headers: Readonly<Record<string, string>> = {}) {
    super(error.message);
    this.error = error;
    this.headers = headers;
  }
}

/** The answer was cut off: no end event, or silence for too long. */
export class StreamCut extends Error {
  override readonly name = "StreamCut";
  readonly idle: boolean;

  constructor(message: string, options: { idle?: boolean } = {}) {
    super(message);
    this.idle = options.idle ?? false;
  }
}

/** An answer that violates the protocol. */
export class MalformedAnswer extends Error {
  override readonly name = "MalformedAnswer";
}

/** An answer over its size limit; a retry would give the same. */
export class AnswerTooLarge extends Error {
  override readonly name = "AnswerTooLarge";
}

/** The endpoint redirects, which is not followed. `target`: the origin that it names, if any. */
export class RedirectRefused extends Error {
  override readonly name = "RedirectRefused";
  readonly status: number;
  readonly target: string | undefined;

  constructor(status: number, target: string | undefined) {
    super(`the server redirects (HTTP ${status})`);
    this.status = status;
    this.target = target;
  }
}

const NO_LIMIT = Number.POSITIVE_INFINITY;
/** A longer `retry-after` is treated as a year, so that the end of the pause is a valid date. */
const LONGEST_PAUSE_MS = 365 * 24 * 3_600_000;
const NETWORK =
  /\b(?:ECONN\w+|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EPIPE|ETIMEDOUT|UND_ERR_\w+|ERR_STREAM_PREMATURE_CLOSE)\b|fetch failed|socket hang up|other side closed|terminated|premature close/i;
/** Statuses of errors that an answer reports after it has begun. */
const STATUS_OF_TYPE: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  invalid_prompt: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
};
/** No server listens, the name does not exist, or nothing came for minutes: more retries are useless. */
const UNREACHABLE = /\b(?:ECONNREFUSED|ENOTFOUND|UND_ERR_HEADERS_TIMEOUT)\b/;
const UNREACHABLE_RETRIES = 2;
/** Maximum retries after answers that were cut off or ended with an error: each is paid for. */
const CUT_RETRIES = 4;
/** Node.js error codes of a failed TLS connection. */
const TLS =
  /\b(?:CERT_\w+|ERR_TLS_\w+|ERR_SSL_\w+|EPROTO|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(?:GET_ISSUER|VERIFY)\w+)\b/;
/** Of these, an endpoint without TLS. */
const NO_TLS = /\b(?:EPROTO|ERR_SSL_\w+)\b/;
/** Similar names to try, and where the name is set. */
function modelAdvice({ info, knownIds }: ResolvedModel): string {
  const near = nearest(info.id, knownIds ?? []).filter((id) => id !== info.id);
  const mean =
    near.length > 0 ? `did you mean ${near.map((id) => `${info.provider}/${id}`).join(" or ")}? ` : "";
  const advice = quirksOf(info).missingModelAdvice?.(info.id);
  return `${mean}${advice === undefined ? "" : `${advice}, or `}choose another with --model or agents.defaults.model`;
}

/**
 * Classifies a failure of a call to `model`. `started`: the answer had begun. The error contains no secret, no request body and
 * no library error as its cause, because those contain the prompt and the headers.
 */
export function classify(thrown: unknown, model: ResolvedModel, started: boolean): Failure {
  const facts = factsOf(thrown);
  const secrets = modelSecrets(model);
  const message = shorten(redact(facts.message, secrets)).replace(/[.\s]+$/, "");
  const idle = thrown instanceof StreamCut && thrown.idle;
  const failure = (code: ErrorCode, sentence: string, retries: number): Failure => ({
    error: new PagurusError(code, redact(sentence, secrets), {
      details: errorDetails(code, facts, model, { idle, started }),
    }),
    retries,
    ...retryAfter(facts.headers),
  });
  const who = `The provider "${model.info.provider}"`;
  const what = `for the model "${model.info.id}"`;
  const http = facts.status === undefined ? "" : ` (HTTP ${facts.status})`;
  const quote = message === "" ? "" : `: ${message}`;

  if (thrown instanceof RedirectRefused) {
    const refused = failure("model_unavailable", redirected(thrown, model, what), 0);
    if (thrown.target !== undefined) refused.error.details["redirect"] = thrown.target;
    return refused;
  }
  if (thrown instanceof AnswerTooLarge)
    return failure("model_bad_response", `${who} sent too much ${what}${quote}.`, 0);
  if (saysContextOverflow(`${facts.code} ${facts.message} ${facts.body}`) && facts.status !== 429) {
    const sentence = `The context does not fit the window of "${model.info.ref}"${quote}.`;
    return failure("context_overflow", sentence, 0);
  }
  if (thrown instanceof StreamCut) {
    const sentence = `The answer of "${model.info.ref}" broke off${quote}; run the turn again.`;
    return failure("model_stream_cut", sentence, idle ? 1 : CUT_RETRIES);
  }
  const { status } = facts;
  if (status === 401 || status === 403) {
    const where = model.keySource ?? `models.providers.${model.info.provider}.apiKey`;
    return failure("model_auth", `${who} refused the credentials ${what}${http}${quote}; check ${where}.`, 0);
  }
  if (status === 429) {
    const permanent = saysQuotaUsedUp(`${facts.code} ${facts.message} ${facts.body}`);
    const sentence = `${who} limits the rate of requests ${what}${http}${quote}; wait, or choose another model.`;
    return failure("model_rate_limited", sentence, permanent ? 0 : NO_LIMIT);
  }
  if (status !== undefined && (status >= 500 || status === 408 || status === 409 || status === 425)) {
    const sentence = `${who} failed ${what}${http}${quote}; try again later.`;
    return failure("model_unavailable", sentence, started ? CUT_RETRIES : NO_LIMIT);
  }
  const unconnected = connectionFailure(facts, { model, what, started });
  if (unconnected) return failure(...unconnected);
  if (saysNoSuchModel(facts, model.info.id)) {
    const sentence = `${who} does not have the model "${model.info.id}"${http}${quote}; ${modelAdvice(model)}.`;
    return failure("model_unknown", sentence, 0);
  }
  if (status === 404) {
    const where = `models.providers.${model.info.provider}.baseUrl`;
    const sentence = `Nothing answers ${what} at ${addressOf(model)}${http}${quote}; check ${where}.`;
    return failure("model_bad_request", sentence, 0);
  }
  if (status !== undefined && status >= 400) {
    const refusal = failure("model_bad_request", `${who} refused the request ${what}${http}${quote}.`, 0);
    return saysStaleThinking(`${facts.code} ${facts.message}`)
      ? { ...refusal, staleThinking: true }
      : refusal;
  }
  if (thrown instanceof MalformedAnswer) {
    const sentence = `${who} answered what its protocol does not allow ${what}${quote}; check that the api of the provider is right.`;
    return failure("model_bad_response", sentence, 1);
  }
  if (thrown instanceof ServerError) {
    return failure(
      "model_unavailable",
      `${who} ended the answer ${what} with an error${quote}; try again later.`,
      CUT_RETRIES,
    );
  }
  return failure("model_bad_request", `The request ${what} could not be made${quote}.`, 0);
}

/** Ids, numbers and words of ours. */
function errorDetails(
  code: ErrorCode,
  { status: known, causes, headers, ...texts }: Facts,
  { info }: ResolvedModel,
  call: { idle: boolean; started: boolean },
): Record<string, unknown> {
  const text = `${texts.code} ${texts.message} ${texts.body}`;
  const status = known === undefined ? {} : { status: known };
  const reason = failureReasonOf({ code, causes, text, ...call, ...status });
  return {
    provider: info.provider,
    model: info.id,
    ...status,
    ...defined({ reason }),
    ...retryAfter(headers),
  };
}

/** A failure below HTTP: code, sentence and retries of its error. */
function connectionFailure(
  facts: Facts,
  { model, what, started }: { model: ResolvedModel; what: string; started: boolean },
): [ErrorCode, string, number] | undefined {
  const tls = started ? undefined : TLS.exec(facts.causes)?.[0];
  if (tls !== undefined) return ["model_unavailable", distrusted(model, what, tls), 0];
  // A body that was cut off arrives as a network error with the 200 of its headers.
  if (!NETWORK.test(`${facts.causes} ${facts.message}`)) return undefined;
  if (started) {
    const sentence = `The answer of "${model.info.ref}" broke off; run the turn again.`;
    return ["model_stream_cut", sentence, CUT_RETRIES];
  }
  const sentence = `The endpoint ${addressOf(model)} ${what} cannot be reached${networkCode(facts)}; check that it runs.`;
  return ["model_unavailable", sentence, UNREACHABLE.test(facts.causes) ? UNREACHABLE_RETRIES : NO_LIMIT];
}

/** Target of a redirect, and the setting to change if it is right. */
function redirected({ status, target }: RedirectRefused, model: ResolvedModel, what: string): string {
  const to = target === undefined ? "without an address" : `to ${target}`;
  return (
    `The endpoint ${addressOf(model)} ${what} redirects ${to} (HTTP ${status}), and a redirect is not followed, ` +
    `because the request holds credentials and the conversation; if you trust the target, set ` +
    `models.providers.${model.info.provider}.baseUrl to it.`
  );
}

function distrusted(model: ResolvedModel, what: string, code: string): string {
  const endpoint = `The endpoint ${addressOf(model)} ${what}`;
  if (NO_TLS.test(code)) {
    return `${endpoint} does not speak TLS (${code}); check whether models.providers.${model.info.provider}.baseUrl must begin with http://.`;
  }
  return `${endpoint} has a certificate that is not trusted (${code}); check the address, or name the certificate of its authority in NODE_EXTRA_CA_CERTS.`;
}

function factsOf(thrown: unknown): Facts {
  const causes = causesOf(thrown);
  if (!(thrown instanceof ServerError)) {
    const { message, code } = recordOf(thrown);
    return { code: firstText(code), message: firstText(message), body: "", headers: {}, causes };
  }
  const { error, headers } = thrown;
  const status = error.status ?? statusOf(error);
  const code = [error.code, error.type].filter((text) => text !== undefined).join(" ");
  const { message, page = "" } = error;
  return { ...defined({ status }), code, message, body: page, headers, causes };
}

/** The status that an error within an answer would have had; undefined for any that may pass. */
function statusOf({ code = "", type = "", message }: AnswerError): number | undefined {
  return STATUS_OF_TYPE[type] ?? STATUS_OF_TYPE[code] ?? (saysBadRequest(message) ? 400 : undefined);
}

function causesOf(thrown: unknown): string {
  const texts: string[] = [];
  let current: unknown = thrown;
  for (let depth = 0; depth < 6 && typeof current === "object" && current !== null; depth++) {
    const { code, message, cause } = recordOf(current);
    if (typeof code === "string") texts.push(code);
    if (typeof message === "string") texts.push(message);
    current = cause;
  }
  return texts.join(" ");
}

function retryAfter(headers: Readonly<Record<string, string>>): { retryAfterMs?: number } {
  const asked = askedPause(headers);
  return asked === undefined ? {} : { retryAfterMs: Math.min(asked, LONGEST_PAUSE_MS) };
}

/** `retry-after` in seconds or as a date, `retry-after-ms`; nothing else is trusted. */
function askedPause(headers: Readonly<Record<string, string>>): number | undefined {
  const ms = Number(headers["retry-after-ms"] ?? Number.NaN);
  if (Number.isFinite(ms) && ms >= 0) return ms;
  const raw = headers["retry-after"];
  if (raw === undefined) return undefined;
  const seconds = Number(raw);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1_000);
  const date = Date.parse(raw);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

function modelSecrets(model: ResolvedModel): string[] {
  const key = model.apiKey?.reveal();
  const values = Object.values(model.headers.reveal());
  const tokens = values.map((value) => withoutAuthScheme(value));
  return [...(key === undefined ? [] : [key]), ...values, ...tokens];
}

/** Scheme, host and path only: an address may contain a key as its user part or query. */
function addressOf(model: ResolvedModel): string {
  const url = new URL(model.baseUrl);
  return `${url.origin}${url.pathname}`;
}

function networkCode(facts: Facts): string {
  const code = /\b(?:E[A-Z_]{4,}|UND_ERR_\w+)\b/.exec(facts.causes)?.[0];
  return code ? ` (${code})` : "";
}

/** One line of at most 300 characters: providers may quote the request in their errors. */
function shorten(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= 300 ? line : `${line.slice(0, 299)}…`;
}

function firstText(...values: unknown[]): string {
  return values.find((value): value is string => typeof value === "string" && value !== "") ?? "";
}
