/** The native threads of a host: which ones a child has loaded; start, resume, inject and release. */
import { existsSync } from "node:fs";
import type { AgentMessage } from "@pagurus/contract/message";
import { RpcError } from "@pagurus/core/rpc/peer";
import type { AppServer } from "./app-server/app-server.ts";
import { toHistoryItems } from "./codex-items.ts";
import type {
  JsonValue,
  ThreadArchiveParams,
  ThreadInjectItemsParams,
  ThreadResumeParams,
  ThreadResumeResponse,
  ThreadStartParams,
  ThreadStartResponse,
  ThreadUnsubscribeParams,
} from "./protocol.ts";

/** Timeout of a request, ms. */
export const REQUEST_MS = 60_000;

/** A thread that a child has open. */
export interface OpenThread {
  id: string;
  /** Codex's file of a thread without raw items on the wire; undefined for one with them. */
  rollout: string | undefined;
  /** Tokens of its context, as Codex last counted them; undefined before. */
  tokens: number | undefined;
  /** Sandbox of its commands, as last sent. */
  sandbox: string | undefined;
  /** A turn runs on it, from its start, resume or use until its release. */
  inUse: boolean;
}

/** Limit of idle threads in a child's memory (about 2 MB each); others are loaded from disk. */
const MOST_IDLE_THREADS = 16;

/** A thread that cannot be continued. */
export interface LostThread {
  /** The reason, as the end of a sentence that begins with "the thread". */
  lost: string;
  /** Another process uses it. */
  isHeld: boolean;
}

export class Threads {
  /** By child: another one does not have them loaded. */
  readonly #open = new WeakMap<AppServer, Map<string, OpenThread>>();
  readonly #onGone: (id: string) => void;

  /** `onGone` is called for each thread that a child no longer has. */
  constructor(onGone: (id: string) => void = () => undefined) {
    this.#onGone = onGone;
  }

  /** Whether this child has it open. */
  has(server: AppServer, id: string): boolean {
    return this.#of(server).has(id);
  }

  /** Marks the thread as used by a turn and returns it; undefined when this child does not have it open. */
  use(server: AppServer, id: string): OpenThread | LostThread | undefined {
    const open = this.#of(server).get(id);
    if (!open) return undefined;
    if (open.rollout !== undefined && !existsSync(open.rollout)) {
      this.#of(server).delete(id);
      return { isHeld: false, lost: "has lost its file" };
    }
    open.inUse = true;
    return open;
  }

  /** Throws Codex's refusal. */
  async start(server: AppServer, params: ThreadStartParams, signal: AbortSignal): Promise<OpenThread> {
    const options = { signal, deadlineMs: REQUEST_MS };
    const { thread } = await server.request<ThreadStartResponse>("thread/start", params, options);
    return this.#note(server, {
      id: thread.id,
      rollout: undefined,
      tokens: undefined,
      sandbox: params.sandbox ?? undefined,
      inUse: true,
    });
  }

  /** The resumed thread, or the reason why Codex cannot. */
  async resume(
    server: AppServer,
    params: ThreadResumeParams,
    signal: AbortSignal,
  ): Promise<OpenThread | LostThread> {
    const options = { signal, deadlineMs: REQUEST_MS };
    try {
      const { thread } = await server.request<ThreadResumeResponse>("thread/resume", params, options);
      const { id, path } = thread;
      return typeof path === "string" && path.endsWith(".jsonl")
        ? this.#note(server, {
            id,
            rollout: path,
            tokens: undefined,
            sandbox: params.sandbox ?? undefined,
            inUse: true,
          })
        : { isHeld: false, lost: "is stored in a way that cannot be followed" };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      const isHeld = /active writer/i.test(error.message);
      return { isHeld, lost: isHeld ? "is open in another process" : `is gone (${error.message})` };
    }
  }

  /** Returns the entries whose results had to be shortened. Throws Codex's refusal. */
  async inject(
    server: AppServer,
    threadId: string,
    messages: readonly AgentMessage[],
    signal: AbortSignal,
  ): Promise<string[]> {
    if (messages.length === 0) return [];
    const { items, shortened } = toHistoryItems(messages);
    await this.injectItems(server, threadId, items as JsonValue[], signal);
    return shortened;
  }

  async injectItems(
    server: AppServer,
    threadId: string,
    items: JsonValue[],
    signal: AbortSignal,
  ): Promise<void> {
    const params: ThreadInjectItemsParams = { threadId, items };
    await server.request("thread/inject_items", params, { signal, deadlineMs: REQUEST_MS });
  }

  /** Releases the thread after a turn. */
  rest(server: AppServer, thread: OpenThread): void {
    thread.inUse = false;
    const open = this.#of(server);
    // Moves the most recently used to the end.
    if (open.delete(thread.id)) open.set(thread.id, thread);
    const idle = [...open.values()].filter(({ inUse }) => !inUse);
    for (const { id } of idle.slice(0, Math.max(0, idle.length - MOST_IDLE_THREADS))) {
      open.delete(id);
      const params: ThreadUnsubscribeParams = { threadId: id };
      server.request("thread/unsubscribe", params, { deadlineMs: REQUEST_MS }).catch(() => undefined);
      this.#onGone(id);
    }
  }

  /** Drops a thread: removes it from Codex's list and from its memory. */
  leave(server: AppServer, threadId: string): void {
    this.#of(server).delete(threadId);
    const params: ThreadArchiveParams = { threadId };
    server.request("thread/archive", params, { deadlineMs: REQUEST_MS }).catch(() => undefined);
    this.#onGone(threadId);
  }

  #of(server: AppServer): Map<string, OpenThread> {
    const known = this.#open.get(server) ?? new Map<string, OpenThread>();
    this.#open.set(server, known);
    return known;
  }

  #note(server: AppServer, thread: OpenThread): OpenThread {
    this.#of(server).set(thread.id, thread);
    return thread;
  }
}
