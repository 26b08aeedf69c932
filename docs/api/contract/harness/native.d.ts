/** Native threads: conversations that a runtime keeps by itself, and how one becomes a session of the host. */
import type { AgentMessage } from "../message.ts";
import type { NativeCompactionQuestion } from "./native-compaction.ts";
import type { ToolSet } from "./tool.ts";
import type { SessionRecord } from "../session/writer.ts";
export type { NativeCompactionQuestion, NativeCompactionRequest } from "./native-compaction.ts";
/** The native thread of a runtime in which a session continues. Plain JSON; kept with the session, never shown to a model. */
export interface HarnessBinding {
    nativeId: string;
    /**
     * The runtime's own state of the thread, such as what it holds. The host writes `adopted: true` where it has taken a thread
     * over, with `anchor`: the newest entry that holds a message of it.
     */
    state: Readonly<Record<string, unknown>>;
}
export interface NativeCompaction {
    compacted: boolean;
    /** Why not. */
    reason?: string;
    /** Tokens by the runtime's own count. */
    tokensBefore?: number;
    tokensAfter?: number;
    /** The thread's new binding, where it has changed. */
    binding?: HarnessBinding;
}
/** A thread as its runtime lists it. */
export interface NativeThread {
    nativeId: string;
    /** Its title, else the user's first text; may be empty. */
    preview: string;
    cwd: string;
    /** ISO 8601. */
    updatedAt: string;
}
/** Filter of native threads. */
export interface NativeThreadFilter {
    /** Only those of this folder. */
    cwd?: string;
    /** Maximum number of results; default 50. */
    limit?: number;
}
/** A conversation as messages; fragments of additional context among them have `fragment`. */
export interface NativeHistory {
    /** Runtime that it comes from. */
    runtime: string;
    nativeId: string;
    cwd: string;
    messages: AgentMessage[];
}
/** A thread to take over: its history as messages, or the file that holds it in a format that the store imports. */
export type AdoptedThread = NativeThread & {
    history: {
        messages: AgentMessage[];
    } | {
        file: string;
        format: string;
    };
};
/** The program that a runtime drives. Holds no secrets. */
export interface NativeProgram {
    /** Path of the program. */
    program: string;
    version: string;
    /** Login state as text: "not logged in", "an API key". */
    login: string;
    /** One sentence about a version that the runtime was not made for, and what to do; absent if it is supported. */
    drift?: string;
}
/** The part of a harness that manages native threads; each member is optional. */
export interface HarnessThreads {
    /**
     * A native thread's history, to take it over; the thread stays unchanged. An id may be shortened where it stays unique.
     * Throws `thread_unknown`.
     */
    adopt?(nativeId: string, signal?: AbortSignal): Promise<AdoptedThread>;
    /**
     * Native threads that a user can continue, last used first. Absent: the request is refused with `runtime_unsupported`. What it
     * throws reaches the user.
     */
    threads?(filter: NativeThreadFilter, signal?: AbortSignal): Promise<NativeThread[]>;
    /** The program that the runtime drives. Throws `runtime_failed` when it cannot be found or started. */
    program?(signal?: AbortSignal): Promise<NativeProgram>;
}
/** A thread, and the session that it is bound to or was adopted into. */
export type ListedThread = NativeThread & {
    sessionKey?: string;
};
export interface BindReport {
    session: SessionRecord;
    /** `thread`: the next turn in the runtime continues the thread itself, or a fork of it; `context`: a new one, from the engine. */
    goesOn: "thread" | "context";
    /** The entries that were taken, skipped or set aside, a sentence each. */
    told: string[];
}
export interface NativeStatus {
    runtime: string;
    /** Absent if it cannot be found or started; `problem` says why. */
    program?: NativeProgram;
    problem?: string;
    sessionKey: string;
    /** The thread that the session's next turn in the runtime continues. */
    boundTo?: string;
    /** The thread that the session was made from. */
    adoptedFrom?: string;
}
export interface NativeThreads {
    /** Newest first. Throws `runtime_unknown`, `runtime_unsupported`, and any error of the runtime. */
    threads(request: {
        runtime: string;
        agentId?: string;
        signal?: AbortSignal;
    } & NativeThreadFilter): Promise<ListedThread[]>;
    /**
     * Takes over a native thread: its history becomes the transcript of a session (default key `<runtime>:<thread>`), which must
     * be new or empty. Throws `session_exists`, `session_locked`, `thread_unknown`, `import_invalid`, and as `threads`.
     */
    bind(request: {
        runtime: string;
        nativeId: string;
        sessionKey?: string;
        agentId?: string;
        signal?: AbortSignal;
    }): Promise<BindReport>;
    /** Reports a program that cannot be found as a problem instead of throwing. Throws `runtime_unknown`. */
    status(request: {
        runtime: string;
        sessionKey?: string;
        agentId?: string;
        cwd?: string;
        signal?: AbortSignal;
    }): Promise<NativeStatus>;
    /**
     * `HarnessTurn.answerCompaction` without a running turn. For a compaction that the user requested (`manual`), an engine that
     * owns compaction compacts first, as for `/compact`. Throws `runtime_unknown`, `model_unknown`, `session_locked`,
     * `host_requirement`.
     */
    answerCompaction(request: NativeCompactionQuestion): Promise<{
        summary: string;
    } | undefined>;
    /** Host tools that a runtime offers besides its own (`takesTools`). Throws `runtime_unknown`, `usage_invalid` (folder). */
    tools(request: {
        runtime: string;
        cwd: string;
        sessionKey?: string;
        agentId?: string;
        signal?: AbortSignal;
    }): Promise<Pick<ToolSet, "specs" | "fingerprint">>;
}
