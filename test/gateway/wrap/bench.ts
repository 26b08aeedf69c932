/** A host with a governor that follows a simulated program, which keeps its own history and sends requests as programs do. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPagurus } from "../../../packages/app/src/app.ts";
import type { AgentMessage, AssistantMessage, UserMessage } from "../../../packages/contract/src/message.ts";
import type { Pagurus, PagurusOptions } from "../../../packages/contract/src/host/host.ts";
import type {
  WireAnswer,
  WireItem,
  WireRequest,
} from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import type { Governed } from "../../../packages/gateway/src/governor/governor.ts";
import { WrapClaims } from "../../../packages/gateway/src/wrap/wrap-claims.ts";
import { WrapGovernor, type WrapGovernorOptions } from "../../../packages/gateway/src/wrap/wrap-governor.ts";
import { WrapHarness } from "../../../packages/gateway/src/wrap/wrap-harness.ts";

const SILENT = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => SILENT,
};

export const MODEL = "local/model-1";

export class WrapBench {
  static readonly CONFIG = {
    models: {
      providers: {
        local: {
          api: "anthropic-messages",
          baseUrl: "http://127.0.0.1:9",
          models: [{ id: "model-1", contextWindow: 200_000, maxTokens: 4_000 }],
        },
      },
    },
  };
  readonly root: string;
  readonly notices: string[] = [];
  pagurus!: Pagurus;
  governor!: WrapGovernor;
  harness!: WrapHarness;
  #claims: WrapClaims | undefined;

  /** With a `root`: a further process over the home of another bench. */
  constructor(root = mkdtempSync(join(tmpdir(), "pagurus-wrap-"))) {
    this.root = root;
    mkdirSync(join(this.root, "work"), { recursive: true });
  }

  get cwd(): string {
    return join(this.root, "work");
  }

  /** A new process: host, runtime and governor. */
  async open(
    more: Partial<WrapGovernorOptions> = {},
    options: Partial<PagurusOptions> = {},
  ): Promise<WrapGovernor> {
    await this.#openHost(options);
    return this.#follow(more);
  }

  /** The same where the user names no session: the program begins a new one of the folder, or resumes one by itself. */
  async openUnnamed(): Promise<WrapGovernor> {
    await this.#openHost({});
    const claims = new WrapClaims(this.pagurus, { agentId: "main", cwd: this.cwd });
    this.#claims = claims;
    const { sessionKey, folder } = await claims.claim({ how: "new" });
    return this.#follow({ sessionKey, folder, claims });
  }

  async #openHost(options: Partial<PagurusOptions>): Promise<void> {
    this.harness = new WrapHarness("played", "A played program");
    this.pagurus = await createPagurus({
      home: join(this.root, "home"),
      env: { PATH: process.env["PATH"], HOME: this.root, PAGURUS_NO_PROBE: "1" },
      harnesses: [this.harness],
      config: { ...WrapBench.CONFIG, plugins: { slots: { contextEngine: "lossless" } } },
      ...options,
    });
  }

  #follow(more: Partial<WrapGovernorOptions>): WrapGovernor {
    this.governor = new WrapGovernor({
      pagurus: this.pagurus,
      harness: this.harness,
      sessionKey: "work",
      agentId: "main",
      cwd: this.cwd,
      logger: SILENT,
      modelOf: () => MODEL,
      upstream: () => {
        throw new Error("nothing is sent here");
      },
      notify: (sentence) => void this.notices.push(sentence),
      settleMs: 5_000,
      ...more,
    });
    return this.governor;
  }

  async close(): Promise<void> {
    await this.governor.close();
    await this.pagurus.close();
    this.#claims?.release();
    this.#claims = undefined;
  }

  async end(): Promise<void> {
    await this.close();
    rmSync(this.root, { recursive: true, force: true });
  }

  /** The conversation of a session, one line per message. */
  transcript(sessionKey = "work"): string[] {
    const reader = this.pagurus.sessions().openReader(sessionKey);
    try {
      return reader.contextMessages().messages.map(lineOf);
    } finally {
      reader.close();
    }
  }
}

export function lineOf(message: AgentMessage): string {
  if (message.role === "toolResult") return `result ${message.toolCallId} ${wordsOf(message.content)}`;
  if (typeof message.content === "string") return `${message.role}: ${message.content}`;
  return `${message.role}: ${wordsOf(message.content)}`;
}

function wordsOf(content: readonly { type: string }[]): string {
  return (content as readonly Record<string, unknown>[])
    .map((part) =>
      part["type"] === "toolCall" ? `call ${String(part["id"])}` : String(part["text"] ?? part["type"]),
    )
    .join(" | ");
}

export const user = (text: string): UserMessage => ({ role: "user", content: [{ type: "text", text }] });

export function answer(text: string, ...calls: string[]): AssistantMessage {
  return {
    role: "assistant",
    content: [
      ...(text === "" ? [] : [{ type: "text" as const, text }]),
      ...calls.map((id) => ({ type: "toolCall" as const, id, name: "Bash", arguments: { command: id } })),
    ],
    stopReason: calls.length > 0 ? "toolUse" : "stop",
  };
}

export const result = (id: string, text = `done ${id}`): AgentMessage => ({
  role: "toolResult",
  toolCallId: id,
  toolName: "Bash",
  content: [{ type: "text", text }],
  isError: false,
});

export const complete = (message: AssistantMessage): WireAnswer => ({
  message,
  isComplete: true,
  usage: { input: 10, output: 5, totalTokens: 15 },
});

export interface Asked {
  messages: AgentMessage[];
  /** Default: the index of the last user message. */
  liveFrom?: number;
  native?: WireRequest["native"];
  kind?: WireRequest["kind"];
  compaction?: WireRequest["compaction"];
}

/** A request as a dialect would have read it; each element is one message. */
export function request({
  messages,
  liveFrom,
  native = { threadId: "thread-1" },
  kind = "main",
  compaction,
}: Asked): WireRequest {
  const items: WireItem[] = messages.map((message, index) => ({
    start: index,
    end: index + 1,
    kind: "message",
    messages: [message],
  }));
  return {
    api: "anthropic-messages",
    kind,
    body: Buffer.from("x".repeat(messages.length + 2)),
    model: "model-1",
    stream: true,
    list: { start: 0, end: messages.length },
    items,
    prefixCount: 0,
    liveFrom: liveFrom ?? messages.findLastIndex(({ role }) => role === "user"),
    native,
    ...(compaction ? { compaction } : {}),
  };
}

/** A program with a history of its own. */
export class Played {
  readonly messages: AgentMessage[];
  readonly #bench: WrapBench;
  native: WireRequest["native"];
  #requests = 0;

  constructor(
    bench: WrapBench,
    messages: AgentMessage[] = [],
    native: WireRequest["native"] = { threadId: "thread-1" },
  ) {
    this.#bench = bench;
    this.messages = [...messages];
    this.native = native;
  }

  call(): { request: number; signal: AbortSignal } {
    this.#requests += 1;
    return { request: this.#requests, signal: new AbortController().signal };
  }

  /** The model's context, one line per message. */
  async asks(...messages: AgentMessage[]): Promise<string[]> {
    return (await this.governed(...messages)).context.messages.map(lineOf);
  }

  async governed(...messages: AgentMessage[]): Promise<Governed> {
    this.messages.push(...messages);
    const made = request({ messages: this.messages, native: this.native });
    const governed = await this.#bench.governor.main(made, this.call());
    if (!governed) throw new Error("the request passed");
    this.#bench.governor.sent(made);
    return governed;
  }

  async isAnswered(message: AssistantMessage, how: Partial<WireAnswer> = {}): Promise<void> {
    const made = request({ messages: this.messages, native: this.native });
    if (how.isComplete !== false && !how.error) this.messages.push(message);
    const call = { ...this.call(), isAborted: false };
    await this.#bench.governor.answered(made, { ...complete(message), ...how }, call);
  }

  /** An answer as it is, which the program does not keep. */
  async fails(answered: WireAnswer): Promise<void> {
    const made = request({ messages: this.messages, native: this.native });
    await this.#bench.governor.answered(made, answered, { ...this.call(), isAborted: false });
  }
}
