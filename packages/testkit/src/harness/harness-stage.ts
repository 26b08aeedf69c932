/**
 * A real host in a scratch home that drives one harness: the suite's engine in the slot, the suite's tools, a scripted model at
 * a local endpoint.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import type { TurnEvent } from "@pagurus/contract/host/events";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { Pagurus, PagurusOptions } from "@pagurus/contract/host/host";
import type { AgentMessage } from "@pagurus/contract/message";
import type { ModelApi } from "@pagurus/contract/model";
import type { PluginApi } from "@pagurus/contract/host/plugin";
import type { RunRequest, TurnRun } from "@pagurus/contract/host/run";
import type { RuntimeFact } from "@pagurus/contract/harness/runtimes";
import type { ToolOutcome } from "@pagurus/contract/harness/tool";
import { must, shown, Violation } from "../conformance-check.ts";
import { ScriptedEndpoint } from "../endpoint/model-endpoint-server.ts";
import type { ReplyStep } from "../endpoint/script.ts";
import type { SeenRequest } from "../endpoint/seen.ts";
import { otherHarness } from "./other-harness.ts";
import { RecordingEngine, SUITE_ENGINE } from "./recording-engine.ts";
import { defined } from "@pagurus/core/data/defined";

/** The harness under test, and how to put it into a host. */
export interface HarnessUnderTest {
  /** Opens a host: `createPagurus` of the package. */
  open(options: PagurusOptions): Promise<Pagurus>;
  /** Id of the runtime. */
  runtime: string;
  /** Makes the harness for one host; absent where the host brings it along, or a plugin of `plugins`. */
  create?: (place: HarnessPlace) => AgentHarness | Promise<AgentHarness>;
  /** `plugins` of the configuration, without the slots: what a harness of a plugin needs. */
  plugins?: Record<string, unknown>;
  /** Environment of the host; HOME is a scratch folder. Default: PATH alone. */
  env?: Record<string, string | undefined>;
  /** The protocol in which the model is configured to be served. Default: the first that the harness supports. */
  api?: SuiteApi;
  /**
   * Pattern of the rules or the newest user message in the program's requests beside the conversation, as for titles. Such a request is
   * answered with words, and no check sees it. Default: none are made.
   */
  beside?: RegExp;
}

/** Protocols that the suite's model speaks, in the order in which they are tried. */
export const SUITE_APIS = [
  "openai-responses",
  "openai-completions",
  "anthropic-messages",
] as const satisfies readonly ModelApi[];
export type SuiteApi = (typeof SUITE_APIS)[number];

export interface HarnessPlace {
  /** A private folder that lives as long as the check. */
  dir: string;
  /** Address of the model, as the configuration has it: base URL with `/v1`, key, name of the model. */
  endpoint: { baseUrl: string; apiKey: string; modelId: string };
}

export interface StageOptions {
  /** The engine settles by `commitTurn`. */
  durable?: boolean;
  /** Engine in the slot; default: the suite's. */
  slot?: string;
  /** Maximum model calls of a turn. */
  maxSteps?: number;
}

/** One turn, from its start to its end. */
export interface Asked {
  events: TurnEvent[];
  last: TurnEvent;
  /** Text of the assistant's last message. */
  text: string;
}

export type Tool = (params: Record<string, unknown>, signal: AbortSignal) => Promise<ToolOutcome>;

/** Whether the rules or the newest message of the user match. */
function isBeside(items: SeenRequest["items"], beside: RegExp): boolean {
  const rules = items.find(({ role }) => role === "system")?.text ?? "";
  const newest = items.findLast(({ role }) => role === "user")?.text ?? "";
  return beside.test(rules) || beside.test(newest);
}

const MODEL_ID = "model";
export const MODEL_REF = `suite/${MODEL_ID}`;
/** Name of the suite's tool; each check sets what it does. */
export const TOOL = "suite_note";
const API_KEY = "suite-key";

export class HarnessStage {
  readonly dir: string;
  readonly endpoint: ScriptedEndpoint;
  readonly engine: RecordingEngine;
  readonly #under: HarnessUnderTest;
  readonly #slot: string;
  readonly #maxSteps: number | undefined;
  /** In the environment of every process that the host starts. */
  readonly mark = `PAGURUS_TESTKIT_${randomUUID().replaceAll("-", "")}`;
  /** Answers calls of `suite_note`. */
  tool: Tool = () => Promise.resolve(success("noted"));
  /** Answers `before_tool_call`: why a call is blocked. */
  block: (toolName: string) => string | undefined = () => undefined;
  /** Answers `before_tool_call`: other arguments for a call. */
  rewrite: (toolName: string) => Record<string, unknown> | undefined = () => undefined;
  /** Called by `after_tool_call` for each call that was made. */
  called: (toolName: string) => void = () => undefined;
  /** Answer of the suite's other runtime. */
  otherAnswer = "Answered by the other.";
  /** What `before_prompt_build` prepends to the system prompt. */
  prepended: string | undefined;
  #host: Promise<Pagurus> | undefined;
  #facts: RuntimeFact | undefined;

  private constructor(
    under: HarnessUnderTest,
    dir: string,
    options: StageOptions,
    endpoint: ScriptedEndpoint,
  ) {
    this.#under = under;
    this.dir = dir;
    this.endpoint = endpoint;
    this.#slot = options.slot ?? SUITE_ENGINE;
    this.#maxSteps = options.maxSteps;
    this.engine = new RecordingEngine({
      requests: () => endpoint.requests.length,
      durable: options.durable === true,
    });
    for (const name of ["work", "home-of-user"]) mkdirSync(join(dir, name), { recursive: true });
  }

  static async open(under: HarnessUnderTest, options: StageOptions & { dir: string }): Promise<HarnessStage> {
    const endpoint = await ScriptedEndpoint.start((_request, index) => ({ text: `Answer ${index}.` }));
    const { beside } = under;
    if (beside) endpoint.beside = ({ items }) => isBeside(items, beside);
    return new HarnessStage(under, options.dir, options, endpoint);
  }

  get runtime(): string {
    return this.#under.runtime;
  }

  get cwd(): string {
    return join(this.dir, "work");
  }

  /** The host, created at first use; `slot`: another engine in the slot. */
  host(slot = this.#slot): Promise<Pagurus> {
    this.#host ??= this.#open(slot);
    return this.#host;
  }

  async #open(slot: string): Promise<Pagurus> {
    const { open, create, env } = this.#under;
    const endpoint = { baseUrl: this.endpoint.url, apiKey: API_KEY, modelId: MODEL_ID };
    const harness = await create?.({ dir: this.dir, endpoint });
    const home = join(this.dir, "home-of-user");
    return await open({
      home: join(this.dir, "home"),
      // The folder is the suite's own; files in a folder above it are not part of what is tested.
      trustFolders: true,
      env: {
        ...(env ?? { PATH: process.env["PATH"] }),
        HOME: home,
        PAGURUS_NO_PROBE: "1",
        [this.mark]: "1",
      },
      engines: { [SUITE_ENGINE]: () => this.engine.engine() },
      harnesses: [otherHarness(() => this.otherAnswer), ...(harness ? [harness] : [])],
      plugins: { suite: (api) => this.#register(api) },
      config: this.#config(slot),
    });
  }

  #config(slot: string): Record<string, unknown> {
    const { runtime, api = "openai-responses", plugins } = this.#under;
    const model = { id: MODEL_ID, contextWindow: 200_000, maxTokens: 4_000, input: ["text", "image"] };
    const provider = { api, baseUrl: this.endpoint.url, apiKey: API_KEY, models: [model] };
    return {
      models: { providers: { suite: provider } },
      agents: {
        defaults: {
          model: MODEL_REF,
          // The mark reaches each program that the host starts, so that a leftover one is found.
          permission: { mode: "auto", shellEnv: [this.mark] },
          ...defined({ maxSteps: this.#maxSteps }),
          models: { [MODEL_REF]: { agentRuntime: { id: runtime } } },
        },
      },
      // Checks that name no conversation share one.
      session: { scope: "main" },
      plugins: { ...plugins, slots: { contextEngine: slot } },
      logging: { level: "silent" },
    };
  }

  #register(api: PluginApi): void {
    api.registerTool({
      name: TOOL,
      description: "Takes a note.",
      parameters: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
      execute: (params, { signal }) => this.tool(params, signal),
    });
    api.on("before_prompt_build", () =>
      this.prepended === undefined ? undefined : { prependSystemContext: this.prepended },
    );
    api.on("before_tool_call", ({ toolName }) => {
      const blockReason = this.block(toolName);
      if (blockReason !== undefined) return { block: true, blockReason };
      const params = this.rewrite(toolName);
      return params && { params };
    });
    api.on("after_tool_call", ({ toolName }) => {
      this.called(toolName);
      return undefined;
    });
  }

  /** The host's facts about the runtime. Throws `Violation` where it is not registered. */
  async facts(): Promise<RuntimeFact> {
    if (this.#facts) return this.#facts;
    const all = await (await this.host()).runtimes.list({ model: MODEL_REF });
    const found = all.find(({ id }) => id === this.runtime);
    must(
      found,
      `The host has no runtime ${this.runtime} (there are: ${all.map(({ id }) => id).join(", ")}).`,
    );
    this.#facts = found;
    return found;
  }

  /** Sets the model's answers, one per request; further requests get empty answers. */
  replies(...steps: ReplyStep[]): void {
    const from = this.endpoint.requests.length;
    this.endpoint.script = (_request, index) => steps[index - from] ?? { text: `Answer ${index}.` };
  }

  async start(prompt: string, request: Partial<RunRequest> = {}): Promise<TurnRun> {
    return (await this.host()).run({ prompt, cwd: this.cwd, ...request });
  }

  /** Runs a turn, whatever its outcome. `on` is called at each event. */
  async turn(
    prompt: string,
    request: Partial<RunRequest> = {},
    on: (event: TurnEvent, run: TurnRun) => void = () => undefined,
  ): Promise<Asked> {
    const run = await this.start(prompt, request);
    const events: TurnEvent[] = [];
    for await (const event of run) {
      events.push(event);
      on(event, run);
    }
    const last = events.at(-1);
    must(last, `The turn ${shown(prompt)} had no events.`);
    const messages = events.flatMap((event) => (event.type === "message" ? [event.message] : []));
    return { events, last, text: wordsOf(messages.findLast(({ role }) => role === "assistant")) };
  }

  /** Runs a turn that must complete. Throws `Violation`. */
  async ask(prompt: string, request: Partial<RunRequest> = {}): Promise<Asked> {
    const asked = await this.turn(prompt, request);
    if (asked.last.type === "turn.failed") {
      const { code, message } = asked.last.error;
      throw new Violation(`The turn ${shown(prompt)} failed: ${message} [${code}]`);
    }
    return asked;
  }

  /** The session's conversation as its transcript has it. */
  async transcript(sessionKey = "main"): Promise<AgentMessage[]> {
    const reader = (await this.host()).sessions().openReader(sessionKey);
    try {
      return reader.contextMessages().messages;
    } finally {
      reader.close();
    }
  }

  /** The native thread of a session; undefined where the runtime keeps none, or none yet. */
  async boundTo(sessionKey = "main"): Promise<string | undefined> {
    const host = await this.host();
    return (await host.native.status({ runtime: this.runtime, sessionKey })).boundTo;
  }

  /** Closes the host; the next use creates a new one in the same home. */
  async restart(): Promise<void> {
    const host = this.#host;
    this.#host = undefined;
    // A host that failed to open needs no closing.
    await (await host?.catch(() => undefined))?.close();
  }

  async close(): Promise<void> {
    await this.restart();
    await this.endpoint.close();
  }
}

/** A successful tool result. */
export function success(text: string): ToolOutcome {
  return { content: [{ type: "text", text }], isError: false };
}

/** The text of a message; empty where it has none. */
export function wordsOf(message: AgentMessage | undefined): string {
  if (!message) return "";
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
