/** Native threads: conversations that a runtime keeps by itself, and how one becomes a session of the host. */
import type { AgentMessage } from "./message.ts";
import type { NativeCompactionQuestion } from "./native-compaction.ts";
import type { ToolSet } from "./tool.ts";
import type { SessionRecord } from "./writer.ts";
export type { NativeCompactionQuestion, NativeCompactionRequest } from "./native-compaction.ts";
/** Which native thread of a runtime a session goes on in. Plain JSON; kept with the session, never shown to a model. */
export interface HarnessBinding {
    nativeId: string;
    /**
     * What the runtime needs to know of the thread besides, such as what it holds. The host writes `adopted: true` where it
     * has taken a thread over, with `anchor`: the newest entry that holds a message of it.
     */
    state: Readonly<Record<string, unknown>>;
}
export interface NativeCompaction {
    compacted: boolean;
    /** Why not. */
    reason?: string;
    /** Tokens, as the runtime counts them. */
    tokensBefore?: number;
    tokensAfter?: number;
    /** What is kept of the thread from now on, where that has changed. */
    binding?: HarnessBinding;
}
/** A thread as its runtime lists it. */
export interface NativeThread {
    nativeId: string;
    /** Its title, else how the user began; may be empty. */
    preview: string;
    cwd: string;
    /** ISO 8601. */
    updatedAt: string;
}
/** Which threads are wanted. */
export interface NativeThreadFilter {
    /** Only those of this folder. */
    cwd?: string;
    /** Most that are answered; default 50. */
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
/** A thread to be taken over: its history as messages, or the file that holds it in a format that the store imports. */
export type AdoptedThread = NativeThread & {
    history: {
        messages: AgentMessage[];
    } | {
        file: string;
        format: string;
    };
};
/** The program behind a runtime. Holds no secrets. */
export interface NativeProgram {
    /** Path of the program. */
    program: string;
    version: string;
    /** Who is logged in, in words: "not logged in", "an API key". */
    login: string;
    /** That the version is none that the runtime was made for, and what to do, one sentence; absent where it is. */
    drift?: string;
}
/** The part of a harness that knows native threads; each may be absent. */
export interface HarnessThreads {
    /**
     * A native thread's history, to be taken over; the thread stays as it is. An id may be shortened where it stays
     * unique. Throws `thread_unknown`.
     */
    adopt?(nativeId: string, signal?: AbortSignal): Promise<AdoptedThread>;
    /** Native threads, the last used first; those that a user can go on with. */
    threads?(filter: NativeThreadFilter, signal?: AbortSignal): Promise<NativeThread[]>;
    /** The program behind the runtime. Throws `runtime_failed` when it cannot be found or started. */
    program?(signal?: AbortSignal): Promise<NativeProgram>;
}
/** A thread, and the session that it is bound to or was adopted into. */
export type ListedThread = NativeThread & {
    sessionKey?: string;
};
export interface BindReport {
    session: SessionRecord;
    /**
     * `thread`: the next turn in the runtime goes on in the thread itself, or in a fork of it; `context`: in a new one, from
     * the engine.
     */
    goesOn: "thread" | "context";
    /** What was taken, left out or set aside, a sentence each. */
    told: string[];
}
export interface NativeStatus {
    runtime: string;
    /** Absent where it cannot be found or started; `problem` says why. */
    program?: NativeProgram;
    problem?: string;
    sessionKey: string;
    /** The thread that the session's next turn in the runtime goes on in. */
    boundTo?: string;
    /** The thread that the session was made from. */
    adoptedFrom?: string;
}
export interface NativeThreads {
    /** Newest first. Throws `runtime_unknown`, `runtime_unsupported`, and what the runtime throws. */
    threads(request: {
        runtime: string;
        agentId?: string;
        signal?: AbortSignal;
    } & NativeThreadFilter): Promise<ListedThread[]>;
    /**
     * Takes a native thread over: its history becomes the transcript of a session (default key `<runtime>:<thread>`), which
     * must be new or empty. Throws `session_exists`, `session_locked`, `thread_unknown`, `import_invalid`, and as `threads`.
     */
    bind(request: {
        runtime: string;
        nativeId: string;
        sessionKey?: string;
        agentId?: string;
        signal?: AbortSignal;
    }): Promise<BindReport>;
    /** A program that cannot be found is the report's problem and nothing is thrown. Throws `runtime_unknown`. */
    status(request: {
        runtime: string;
        sessionKey?: string;
        agentId?: string;
        signal?: AbortSignal;
    }): Promise<NativeStatus>;
    /**
     * `HarnessTurn.answerCompaction` where no turn runs. What a user asks for (`manual`) an engine that owns compaction makes
     * first, as `/compact` does. Throws `runtime_unknown`, `model_unknown`, `session_locked`, `host_requirement`.
     */
    answerCompaction(request: NativeCompactionQuestion): Promise<{
        summary: string;
    } | undefined>;
    /** Tools of the host that a runtime takes beside its own (`takesTools`). Throws `runtime_unknown`, `usage_invalid` (folder). */
    tools(request: {
        runtime: string;
        cwd: string;
        sessionKey?: string;
        agentId?: string;
        signal?: AbortSignal;
    }): Promise<Pick<ToolSet, "specs" | "fingerprint">>;
}
