/** The native threads of a host: which a child has loaded, how one is started, gone on with, given items and left. */
import { existsSync } from "node:fs";
import type { AgentMessage } from "../../contract/message.ts";
import { RpcError } from "../../rpc/peer.ts";
import type { AppServer } from "./app-server.ts";
import { toHistoryItems } from "./items.ts";
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

/** Longest wait for an answer, ms. */
export const REQUEST_MS = 60_000;

/** A thread that a child has open. */
export interface OpenThread {
  id: string;
  /** File that Codex writes it to, for one that tells no raw items; undefined for one that does. */
  rollout: string | undefined;
  /** Of its context, as Codex last counted them; undefined while it has not. */
  tokens: number | undefined;
  /** What its commands may do, as it was last told. */
  sandbox: string | undefined;
  /** A turn runs on it, from when it was started, resumed or used until it rests. */
  inUse: boolean;
}

/** Threads that no turn runs on and a child still has in its memory (about 2 MB each): the others come back from disk. */
const MOST_IDLE = 16;

/** A thread that cannot be gone on with. */
export interface LostThread {
  /** What is the matter with it, behind "the thread". */
  lost: string;
  /** Another process goes on with it. */
  isHeld: boolean;
}

export class Threads {
  /** By child: another one knows nothing of them. */
  readonly #open = new WeakMap<AppServer, Map<string, OpenThread>>();
  readonly #onGone: (id: string) => void;

  /** `onGone` is told of each thread that a child has no more. */
  constructor(onGone: (id: string) => void = () => undefined) {
    this.#onGone = onGone;
  }

  /** Whether this child has it open. */
  has(server: AppServer, id: string): boolean {
    return this.#of(server).has(id);
  }

  /** The thread as this child has it open, for a turn that runs on it now; undefined where it has not. */
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

  /** Throws what Codex refuses. */
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

  /** The thread, or why Codex cannot go on with it. */
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
        : { isHeld: false, lost: "is kept in a way that cannot be followed" };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      const isHeld = /active writer/i.test(error.message);
      return { isHeld, lost: isHeld ? "is open in another process" : `is gone (${error.message})` };
    }
  }

  /** Answers the results that had to be shortened, by entry. Throws what Codex refuses. */
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

  /** A turn on the thread has ended. */
  rest(server: AppServer, thread: OpenThread): void {
    thread.inUse = false;
    const open = this.#of(server);
    // The last used comes last.
    if (open.delete(thread.id)) open.set(thread.id, thread);
    const idle = [...open.values()].filter(({ inUse }) => !inUse);
    for (const { id } of idle.slice(0, Math.max(0, idle.length - MOST_IDLE))) {
      open.delete(id);
      const params: ThreadUnsubscribeParams = { threadId: id };
      server.request("thread/unsubscribe", params, { deadlineMs: REQUEST_MS }).catch(() => undefined);
      this.#onGone(id);
    }
  }

  /** A thread that nobody goes on with does not stay in Codex's list, nor in its memory. */
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
