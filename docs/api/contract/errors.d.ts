/**
 * Error catalogue: every error a user can meet, by code. `docs/errors.md` lists the same codes; a test compares both ways.
 * A message is one sentence: what failed, with which input, and what to do.
 */
export declare const ERROR_CODES: {
    readonly usage_invalid: "The command line or the request is not valid.";
    readonly config_invalid: "The configuration file cannot be read or a value in it is wrong.";
    readonly config_key_unknown: "A configuration key that was requested does not exist.";
    readonly credential_missing: "A provider needs a key and none was found.";
    readonly model_unknown: "The model ref names no known provider or model.";
    readonly model_auth: "The provider refused the credentials.";
    readonly model_rate_limited: "The provider still answered 429 after the last retry.";
    readonly model_unavailable: "The endpoint cannot be reached, or still failed after the last retry.";
    readonly model_stream_cut: "The answer was cut off, also in the last retry.";
    readonly model_bad_request: "The provider refused the request as malformed.";
    readonly model_bad_response: "The provider sent an answer that its protocol does not allow.";
    readonly model_refused: "The provider's safety filter ended the answer.";
    readonly context_overflow: "The context does not fit the model's window, also after a compaction.";
    readonly live_turn_too_large: "The current turn alone exceeds the model's window.";
    readonly runtime_unknown: "No agent runtime has this id.";
    readonly runtime_unsupported: "The chosen runtime cannot run this model.";
    readonly thread_unknown: "The runtime has no native thread with this id.";
    readonly runtime_failed: "The agent runtime failed without an explanation.";
    readonly engine_unknown: "The engine in the slot is not registered.";
    readonly engine_failed: "The engine in the slot could not be created.";
    readonly engine_contract: "The engine or harness was written for another contract, or lacks a required member.";
    readonly host_requirement: "The runtime cannot do what the engine requires.";
    readonly plugin_failed: "A plugin that the configuration enables could not be loaded.";
    readonly plugin_duplicate_id: "Two plugins registered the same id.";
    readonly plugin_unknown: "No plugin has this id.";
    readonly plugin_invalid: "A plugin's manifest or files cannot be used.";
    readonly plugin_install_failed: "A plugin could not be installed, updated or removed.";
    readonly gateway_failed: "The model gateway could not be started or does not serve this harness.";
    readonly mcp_failed: "An MCP server could not be reached, or did not list its tools.";
    readonly prompt_blocked: "A hook blocked the input.";
    readonly cost_limit: "The next request would exceed a cost limit, or its cost cannot be known.";
    readonly repeat_limit: "The model repeated a failing tool call until the limit.";
    readonly subagent_limit: "No further subagent may be started: too deep, or too many at once.";
    readonly turn_aborted: "The turn was aborted.";
    readonly turn_exists: "A turn with this id is recorded in the session already.";
    readonly turn_not_running: "No turn that could take it is running in the session, or its process did not answer.";
    readonly turn_deadline: "The turn took longer than its deadline.";
    readonly token_not_found: "No token has this id or name.";
    readonly token_invalid: "A request has no valid token, or its scope does not allow it.";
    readonly server_running: "A server of this home runs already.";
    readonly server_not_running: "No server of this home is running.";
    readonly server_failed: "The server could not listen, or did not answer.";
    readonly server_busy: "The server answers as many requests, or holds as many bytes of them, as it may.";
    readonly channel_failed: "A channel could not be connected, or did not take a message.";
    readonly channel_refused: "The service of a channel refused a message.";
    readonly work_not_found: "The inbox has no work with this id.";
    readonly body_too_long: "The body of a request is longer than the server takes.";
    readonly job_not_found: "No job has this id.";
    readonly idempotency_conflict: "The idempotency key was used for different work.";
    readonly deadline_exceeded: "An operation took longer than its deadline.";
    readonly session_not_found: "No session has this key.";
    readonly session_exists: "A session with this key exists already.";
    readonly session_locked: "Another process is writing to the session.";
    readonly session_key_invalid: "The session key has characters that are not allowed.";
    readonly lock_lost: "Another process took over the session; nothing more is written.";
    readonly entry_not_found: "No entry of the session has this id.";
    readonly store_write_failed: "The transcript cannot be written (full disk, read-only folder).";
    readonly store_read_failed: "The transcript or its index cannot be read.";
    readonly store_unreachable: "The database that several hosts share cannot be reached.";
    readonly store_full: "The server of the database that several hosts share has no space left.";
    readonly import_invalid: "The file to import is not a transcript, or a line of it is corrupt.";
    readonly compaction_failed: "The context could not be compacted.";
    readonly nothing_to_compact: "There is nothing to summarize yet.";
    readonly tool_unknown: "The model called a tool that does not exist.";
    readonly attachment_invalid: "A file attached to the prompt cannot be read or has an unsupported type.";
    readonly node_too_old: "This Node.js is older than 24 and none newer was found.";
    readonly internal: "A defect of Pagurus.";
};
export type ErrorCode = keyof typeof ERROR_CODES;
export declare class PagurusError extends Error {
    /** True also for an error of another copy of the package. */
    static [Symbol.hasInstance](value: unknown): boolean;
    readonly name = "PagurusError";
    readonly code: ErrorCode;
    /** Structured facts: ids, counts, paths, HTTP status. Never prompts or secrets. */
    readonly details: Record<string, unknown>;
    /** `cause`: the error that led to this one; absent where this one is the first. */
    constructor(code: ErrorCode, message: string, options?: {
        cause?: unknown;
        details?: Record<string, unknown>;
    });
}
/** True for a `PagurusError`, also for one that another copy of the package made. */
export declare function isPagurusError(value: unknown): value is PagurusError;
/** Converts any thrown value to a `PagurusError`; a foreign one gets the code `fallback` (default `internal`). */
export declare function toPagurusError(error: unknown, fallback?: ErrorCode): PagurusError;
