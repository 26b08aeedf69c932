/**
 * Error catalogue: every error a user can meet, by code. `docs/errors.md` lists the same codes; a test compares both ways.
 * A message is one sentence: what failed, with which input, and what to do.
 */
export const ERROR_CODES = {
  usage_invalid: "The command line or the request is not valid.",
  config_invalid: "The configuration file cannot be read or a value in it is wrong.",
  config_key_unknown: "A configuration key that was requested does not exist.",
  credential_missing: "A provider needs a key and none was found.",
  model_unknown: "The model ref names no known provider or model.",
  model_auth: "The provider refused the credentials.",
  model_rate_limited: "The provider still answered 429 after the last retry.",
  model_unavailable: "The endpoint cannot be reached, or still failed after the last retry.",
  model_stream_cut: "The answer was cut off, also in the last retry.",
  model_bad_request: "The provider refused the request as malformed.",
  model_bad_response: "The provider sent an answer that its protocol does not allow.",
  model_refused: "The provider's safety filter ended the answer.",
  context_overflow: "The context does not fit the model's window, also after a compaction.",
  live_turn_too_large: "The current turn alone exceeds the model's window.",
  runtime_unknown: "No agent runtime has this id.",
  runtime_unsupported: "The chosen runtime cannot run this model.",
  thread_unknown: "The runtime has no native thread with this id.",
  runtime_failed: "The agent runtime failed without an explanation.",
  engine_unknown: "The engine in the slot is not registered.",
  engine_failed: "The engine in the slot could not be created.",
  engine_contract: "The engine or harness was written for another contract, or lacks a required member.",
  host_requirement: "The runtime cannot do what the engine requires.",
  plugin_failed: "A plugin that the configuration enables could not be loaded.",
  plugin_duplicate_id: "Two plugins registered the same id.",
  plugin_unknown: "No plugin has this id.",
  plugin_invalid: "A plugin's manifest or files cannot be used.",
  plugin_install_failed: "A plugin could not be installed, updated or removed.",
  gateway_failed: "The model gateway could not be started or does not serve this harness.",
  mcp_failed: "An MCP server could not be reached, or did not list its tools.",
  prompt_blocked: "A hook blocked the input.",
  cost_limit: "The next request would exceed a cost limit, or its cost cannot be known.",
  repeat_limit: "The model repeated a failing tool call until the limit.",
  subagent_limit: "No further subagent may be started: too deep, or too many at once.",
  turn_aborted: "The turn was aborted.",
  turn_exists: "A turn with this id is recorded in the session already.",
  turn_not_running: "No turn that could take it is running in the session, or its process did not answer.",
  turn_deadline: "The turn took longer than its deadline.",
  token_not_found: "No token has this id or name.",
  token_invalid: "A request has no valid token, or its scope does not allow it.",
  server_running: "A server of this home runs already.",
  server_not_running: "No server of this home is running.",
  server_failed: "The server could not listen, or did not answer.",
  server_busy: "The server answers as many requests, or holds as many bytes of them, as it may.",
  channel_failed: "A channel could not be connected, or did not take a message.",
  channel_refused: "The service of a channel refused a message.",
  work_not_found: "The inbox has no work with this id.",
  body_too_long: "The body of a request is longer than the server takes.",
  job_not_found: "No job has this id.",
  idempotency_conflict: "The idempotency key was used for different work.",
  deadline_exceeded: "An operation took longer than its deadline.",
  session_not_found: "No session has this key.",
  session_exists: "A session with this key exists already.",
  session_locked: "Another process is writing to the session.",
  session_key_invalid: "The session key has characters that are not allowed.",
  lock_lost: "Another process took over the session; nothing more is written.",
  entry_not_found: "No entry of the session has this id.",
  store_write_failed: "The transcript cannot be written (full disk, read-only folder).",
  store_read_failed: "The transcript or its index cannot be read.",
  store_unreachable: "The database that several hosts share cannot be reached.",
  store_full: "The server of the database that several hosts share has no space left.",
  import_invalid: "The file to import is not a transcript, or a line of it is corrupt.",
  compaction_failed: "The context could not be compacted.",
  nothing_to_compact: "There is nothing to summarize yet.",
  tool_unknown: "The model called a tool that does not exist.",
  attachment_invalid: "A file attached to the prompt cannot be read or has an unsupported type.",
  node_too_old: "This Node.js is older than 24 and none newer was found.",
  internal: "A defect of Pagurus.",
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/** One symbol for every copy of the package in a process: a plugin may bring its own copy. */
const BRAND = Symbol.for("pagurus.error");

/** Longest message: a name in it may come from a client, as long as a body may be. */
const MOST_CHARACTERS = 4_000;

export class PagurusError extends Error {
  /** True also for an error of another copy of the package. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== PagurusError) return Function.prototype[Symbol.hasInstance].call(this, value);
    return isPagurusError(value);
  }

  override readonly name = "PagurusError";
  readonly code: ErrorCode;
  /** Structured facts: ids, counts, paths, HTTP status. Never prompts or secrets. */
  readonly details: Record<string, unknown>;

  /** `cause`: the error that led to this one; absent where this one is the first. */
  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; details?: Record<string, unknown> } = {},
  ) {
    super(
      message.length > MOST_CHARACTERS ? `${message.slice(0, MOST_CHARACTERS)}…` : message,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    Object.defineProperty(this, BRAND, { value: true });
    this.code = code;
    this.details = options.details ?? {};
  }
}

/** True for a `PagurusError`, also for one that another copy of the package made. */
export function isPagurusError(value: unknown): value is PagurusError {
  return typeof value === "object" && value !== null && BRAND in value && "code" in value;
}

/** Converts any thrown value to a `PagurusError`; a foreign one gets the code `fallback` (default `internal`). */
export function toPagurusError(error: unknown, fallback: ErrorCode = "internal"): PagurusError {
  if (isPagurusError(error)) return error;
  // An object without a prototype cannot be converted to a string.
  const message =
    error instanceof Error
      ? error.message
      : typeof error === "object"
        ? Object.prototype.toString.call(error)
        : String(error as string | number | symbol | undefined);
  return new PagurusError(fallback, message, { cause: error });
}
