import {
  methods,
  type AgentContext,
  type ClientCapabilities,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { orAborted } from "@pagurus/core/platform/deadline";
import type { Logger } from "@pagurus/core/platform/log";

/** The client (editor) at the other end of the connection: its capabilities, and the updates and requests sent to it. */
export class Client {
  readonly #context: AgentContext;
  readonly #logger: Logger;
  readonly #gone: AbortSignal;
  #capabilities: ClientCapabilities = {};

  /** `gone` fires when the connection is closed. */
  constructor(context: AgentContext, logger: Logger, gone: AbortSignal) {
    this.#context = context;
    this.#logger = logger;
    this.#gone = gone;
  }

  /** Stores the capabilities of its `initialize` request. */
  understands(capabilities: ClientCapabilities | undefined): void {
    this.#capabilities = capabilities ?? {};
  }

  get compactions(): boolean {
    return Boolean(this.#capabilities.session?.compaction);
  }

  /**
   * Resolves when the update is written or the connection is closed, so that a client that does not read never blocks a turn. Never
   * rejects: a closed connection is noticed elsewhere.
   */
  async update(sessionId: string, update: SessionUpdate): Promise<void> {
    try {
      const { update: method } = methods.client.session;
      await orAborted(this.#context.notify(method, { sessionId, update }), this.#gone);
    } catch (error) {
      this.#logger.debug("update was not written", {
        error: error instanceof Error ? error.name : "unknown",
      });
    }
  }

  /** Sends a sentence for the user; as a thought if the client does not support notices, so that it is not part of an answer. */
  notice(sessionId: string, severity: "info" | "warning", sentence: string): Promise<void> {
    if (this.#capabilities.session?.notices) {
      return this.update(sessionId, { sessionUpdate: "notice", severity, title: sentence });
    }
    const text = `${severity === "warning" ? "Warning" : "Note"}: ${sentence}\n`;
    return this.update(sessionId, { sessionUpdate: "agent_thought_chunk", content: { type: "text", text } });
  }

  /** Rejects when the client fails, or as soon as the signal fires; the signal also closes the question in the client. */
  ask(question: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse> {
    return this.#context.request(methods.client.session.requestPermission, question, {
      cancellationSignal: signal,
      stopWaitingOnCancel: true,
    });
  }
}
