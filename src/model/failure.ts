/** What a failed call means: which error it becomes, whether another attempt can help, and after what pause. */
import { PagurusError, type ErrorCode } from "../contract/errors.ts";
import { nearest } from "./nearest.ts";
import { saysContextOverflow } from "./overflow.ts";
import { redact } from "./secret.ts";
import type { ResolvedModel } from "./types.ts";

export interface Failure {
  error: PagurusError;
  /** Further attempts that make sense for this kind of failure; 0: final. */
  retries: number;
  /** What the server asked for in `retry-after`, ms. */
  retryAfterMs?: number;
  /** The provider cannot read the thinking it once signed: the key's account changed, or what stands before it. */
  staleThinking?: boolean;
}

/** The facts of a thrown value, whatever library threw it. */
interface Facts {
  status?: number;
  code: string;
  message: string;
  body: string;
  headers: Record<string, string>;
  /** Codes and messages down the chain of causes. */
  causes: string;
  name: string;
}

/** The answer broke off: no end event, or silence for too long. */
export class StreamCut extends Error {
  override readonly name = "StreamCut";
  readonly idle: boolean;

  constructor(message: string, options: { idle?: boolean } = {}) {
    super(message);
    this.idle = options.idle ?? false;
  }
}

/** An answer that is not of the protocol; named like the provider packages' own error. */
export class MalformedAnswer extends Error {
  override readonly name = "AI_InvalidResponseDataError";
}

const NO_LIMIT = Number.POSITIVE_INFINITY;
const NETWORK =
  /\b(?:ECONN\w+|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EPIPE|ETIMEDOUT|UND_ERR_\w+|ERR_STREAM_PREMATURE_CLOSE)\b|fetch failed|socket hang up|other side closed|terminated|premature close|Cannot connect to API/i;
const STREAM_ENDED = /stream ended without|\bERR_STREAM_PREMATURE_CLOSE\b/i;
const MALFORMED =
  /^AI_(?:JSONParseError|TypeValidationError|InvalidResponseDataError|EmptyResponseBodyError)$/;
/** Nobody listens there, the name does not exist, or nothing came for minutes: more patience would be in vain. */
const NOBODY = /\b(?:ECONNREFUSED|ENOTFOUND|UND_ERR_HEADERS_TIMEOUT)\b/;
const NOBODY_RETRIES = 2;
const STALE_THINKING =
  /signature.{0,60}(?:thinking|invalid|verif|not valid)|invalid.{0,30}signature|bound to a different|encrypted.?content|thinking.{0,40}blocks?.{0,60}(?:modified|removed|different)/i;
const QUOTA = /insufficient_quota|exceeded your current quota|billing|credit balance|request too large/i;

/** OpenAI, Anthropic, Google, OpenRouter, Ollama and vLLM, each in its own words. */
const NO_SUCH_MODEL =
  /model_not_found|models?\b.{0,100}(?:not found|not exist|no such|not available|not a valid model|unknown)|(?:no such|unknown|invalid) model|not a valid model/i;

/** Whether the provider says that it does not have the model; a 404 may also mean a wrong address. */
function saysNoSuchModel({ status, code, message, body }: Facts, id: string): boolean {
  if (status === 400)
    return /model_not_found|not a valid model|model.{0,60}does not exist/i.test(`${code} ${message}`);
  if (status !== 404) return false;
  return NO_SUCH_MODEL.test(`${code} ${message} ${body}`) || message.includes(id);
}

/** The names to try instead, and where the name was given. */
function modelAdvice({ info, knownIds }: ResolvedModel): string {
  const near = nearest(info.id, knownIds ?? []).filter((id) => id !== info.id);
  const mean =
    near.length > 0 ? `did you mean ${near.map((id) => `${info.provider}/${id}`).join(" or ")}? ` : "";
  const pull = info.provider === "ollama" ? `fetch it with \`ollama pull ${info.id}\`, or ` : "";
  return `${mean}${pull}choose another with --model or agents.defaults.model`;
}

/**
 * Classifies a failure of a call to `model`. `started`: the answer had begun. The error holds no secret, no request
 * body and no library error as its cause, because those carry the prompt and the headers.
 */
export function classify(thrown: unknown, model: ResolvedModel, started: boolean): Failure {
  const facts = factsOf(thrown);
  const secrets = secretsOf(model);
  const said = redact(shorten(facts.message), secrets).replace(/[.\s]+$/, "");
  const failure = (code: ErrorCode, sentence: string, retries: number): Failure => ({
    error: new PagurusError(code, redact(sentence, secrets), {
      details: {
        provider: model.info.provider,
        model: model.info.id,
        ...(facts.status === undefined ? {} : { status: facts.status }),
      },
    }),
    retries,
    ...retryAfter(facts.headers),
  });
  const who = `The provider "${model.info.provider}"`;
  const what = `for the model "${model.info.id}"`;
  const http = facts.status === undefined ? "" : ` (HTTP ${facts.status})`;
  const quote = said === "" ? "" : `: ${said}`;

  if (saysContextOverflow(`${facts.code} ${facts.message} ${facts.body}`) && facts.status !== 429) {
    return failure(
      "context_overflow",
      `The context does not fit the window of "${model.info.ref}"${quote}.`,
      0,
    );
  }
  if (thrown instanceof StreamCut || STREAM_ENDED.test(facts.message)) {
    const idle = thrown instanceof StreamCut && thrown.idle;
    const sentence = `The answer of "${model.info.ref}" broke off${quote}; run the turn again.`;
    return failure("model_stream_cut", sentence, idle ? 1 : NO_LIMIT);
  }
  const { status } = facts;
  if (status === 401 || status === 403) {
    const where = model.keySource ?? `models.providers.${model.info.provider}.apiKey`;
    return failure("model_auth", `${who} refused the credentials ${what}${http}${quote}; check ${where}.`, 0);
  }
  if (status === 429) {
    const permanent = QUOTA.test(`${facts.code} ${facts.message} ${facts.body}`);
    const sentence = `${who} limits the rate of requests ${what}${http}${quote}; wait, or choose another model.`;
    return failure("model_rate_limited", sentence, permanent ? 0 : NO_LIMIT);
  }
  if (status !== undefined && (status >= 500 || status === 408 || status === 409 || status === 425)) {
    return failure("model_unavailable", `${who} failed ${what}${http}${quote}; try again later.`, NO_LIMIT);
  }
  // A body that broke off in the middle arrives as a network error that carries the 200 of its headers.
  if (NETWORK.test(`${facts.causes} ${facts.message}`)) {
    if (started) {
      const sentence = `The answer of "${model.info.ref}" broke off; run the turn again.`;
      return failure("model_stream_cut", sentence, NO_LIMIT);
    }
    const sentence = `The endpoint ${addressOf(model)} ${what} cannot be reached${networkCode(facts)}; check that it runs.`;
    return failure("model_unavailable", sentence, NOBODY.test(facts.causes) ? NOBODY_RETRIES : NO_LIMIT);
  }
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
    return STALE_THINKING.test(`${facts.code} ${facts.message}`)
      ? { ...refusal, staleThinking: true }
      : refusal;
  }
  if (MALFORMED.test(facts.name) || (status !== undefined && status < 300)) {
    const sentence = `${who} answered what its protocol does not allow ${what}; check that the api of the provider is right.`;
    return failure("model_bad_response", sentence, 1);
  }
  if (status === undefined && started) {
    return failure(
      "model_unavailable",
      `${who} ended the answer ${what} with an error${quote}; try again later.`,
      NO_LIMIT,
    );
  }
  return failure("model_bad_request", `The request ${what} could not be made${quote}.`, 0);
}

function factsOf(thrown: unknown): Facts {
  const top = record(thrown);
  const data = record(top["data"]);
  const nested = record(data["error"] ?? top["error"]);
  const status = firstNumber(top["statusCode"], top["status"], top["code"], nested["code"], data["code"]);
  const body = firstText(top["responseBody"]);
  const message = firstText(
    bodyMessage(body),
    top["message"],
    nested["message"],
    typeof thrown === "string" ? thrown : undefined,
  );
  const code = [top["code"], top["type"], nested["code"], nested["type"], nested["status"]]
    .filter((value) => typeof value === "string")
    .join(" ");
  return {
    ...(status === undefined ? {} : { status }),
    code,
    message,
    body,
    headers: lowerCased(record(top["responseHeaders"])),
    causes: causesOf(thrown),
    name: firstText(top["name"]),
  };
}

/** The sentence of an error body, also of servers whose bodies the provider packages do not know. */
function bodyMessage(body: string): string {
  try {
    const parsed = record(JSON.parse(body));
    return firstText(
      record(parsed["error"])["message"],
      parsed["error"],
      parsed["message"],
      parsed["detail"],
    );
  } catch {
    // No JSON: a proxy's page, say. The status speaks for itself.
    return "";
  }
}

function causesOf(thrown: unknown): string {
  const texts: string[] = [];
  let current: unknown = thrown;
  for (let depth = 0; depth < 6 && typeof current === "object" && current !== null; depth++) {
    const { code, message, cause } = record(current);
    if (typeof code === "string") texts.push(code);
    if (typeof message === "string") texts.push(message);
    current = cause;
  }
  return texts.join(" ");
}

/** `retry-after` in seconds or as a date, `retry-after-ms`; nothing else is trusted. */
function retryAfter(headers: Record<string, string>): { retryAfterMs?: number } {
  const ms = Number(headers["retry-after-ms"] ?? Number.NaN);
  if (Number.isFinite(ms) && ms >= 0) return { retryAfterMs: ms };
  const raw = headers["retry-after"];
  if (raw === undefined) return {};
  const seconds = Number(raw);
  if (Number.isFinite(seconds)) return { retryAfterMs: Math.max(0, seconds * 1_000) };
  const date = Date.parse(raw);
  return Number.isNaN(date) ? {} : { retryAfterMs: Math.max(0, date - Date.now()) };
}

function secretsOf(model: ResolvedModel): string[] {
  const key = model.apiKey?.reveal();
  const values = Object.values(model.headers.reveal());
  const tokens = values.map((value) => value.replace(/^Bearer\s+/i, ""));
  return [...(key === undefined ? [] : [key]), ...values, ...tokens];
}

/** Scheme, host and path: an address may carry a key as its user part or query. */
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

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function firstText(...values: unknown[]): string {
  return values.find((value): value is string => typeof value === "string" && value !== "") ?? "";
}

function firstNumber(...values: unknown[]): number | undefined {
  for (const value of values) {
    const number = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
    if (typeof number === "number" && number >= 100 && number <= 599) return number;
  }
  return undefined;
}

function lowerCased(headers: Record<string, unknown>): Record<string, string> {
  const entries = Object.entries(headers).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]));
}
