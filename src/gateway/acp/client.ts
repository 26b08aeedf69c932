import {
  methods,
  type AgentContext,
  type ClientCapabilities,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { orAborted } from "../../platform/deadline.ts";
import type { Logger } from "../../platform/log.ts";

/** The editor at the other end: what it understands, and what it is told. */
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

  /** As its `initialize` says. */
  understands(capabilities: ClientCapabilities | undefined): void {
    this.#capabilities = capabilities ?? {};
  }

  get compactions(): boolean {
    return Boolean(this.#capabilities.session?.compaction);
  }

  /**
   * Resolves when it is written, or the connection is closed: one that nobody reads must not hold a turn then. A client
   * that is gone is noticed elsewhere: never rejects.
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

  /** A sentence for the user; as a thought where the client knows no notices, so that no answer holds it. */
  notice(sessionId: string, severity: "info" | "warning", sentence: string): Promise<void> {
    if (this.#capabilities.session?.notices) {
      return this.update(sessionId, { sessionUpdate: "notice", severity, title: sentence });
    }
    const text = `${severity === "warning" ? "Warning" : "Note"}: ${sentence}\n`;
    return this.update(sessionId, { sessionUpdate: "agent_thought_chunk", content: { type: "text", text } });
  }

  /** Rejects when the client fails, or as soon as the signal fires, which closes the question there too. */
  ask(question: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse> {
    return this.#context.request(methods.client.session.requestPermission, question, {
      cancellationSignal: signal,
      stopWaitingOnCancel: true,
    });
  }
}
