/** The package `@openai/agents` over Chat Completions and Responses. */
import { PNG } from "../model-api/samples.ts";
import {
  load,
  RULES,
  PARAMETERS,
  TOOL_NAMES,
  toolResult,
  type Library,
  type LibraryChat,
  type Turn,
} from "./library-chat.ts";
import { openAiClient, type OpenAiClient } from "./openai-chats.ts";

interface Result {
  history: object[];
  finalOutput: unknown;
  completed: Promise<void>;
}

type Made = new (...of: unknown[]) => unknown;

interface Agents {
  Agent: Made;
  OpenAIChatCompletionsModel: Made;
  OpenAIResponsesModel: Made;
  run(agent: unknown, input: object[], how: object): Promise<Result>;
  tool(made: object): object;
  setTracingDisabled(isDisabled: boolean): void;
}

interface Zod {
  z: { object(of: object): object; string(): object };
}

class AgentsChat implements LibraryChat {
  readonly #agents: Agents;
  readonly #model: unknown;
  readonly #zod: Zod;
  #history: object[] = [];

  constructor(agents: Agents, zod: Zod, model: unknown) {
    this.#agents = agents;
    this.#zod = zod;
    this.#model = model;
  }

  async ask({ kind, text }: Turn, signal?: AbortSignal): Promise<string> {
    const { Agent, run, tool } = this.#agents;
    const { z } = this.#zod;
    const tools = TOOL_NAMES.map((name) =>
      tool({
        name,
        description: name,
        parameters: { ...PARAMETERS },
        strict: true,
        execute: (args: unknown) => toolResult(name, args),
      }),
    );
    const outputType = kind === "format" ? { outputType: z.object({ city: z.string() }) } : {};
    const agent = new Agent({ name: "Agent", instructions: RULES, model: this.#model, tools, ...outputType });
    const image = { type: "input_image", image: `data:image/png;base64,${PNG}` };
    const content = [{ type: "input_text", text }, ...(kind === "image" ? [image] : [])];
    const input = [...this.#history, { role: "user", content }];
    const result = await run(agent, input, { stream: kind === "stream", signal });
    if (kind === "stream") await result.completed;
    signal?.throwIfAborted();
    this.#history = result.history;
    return kind === "format" ? JSON.stringify(result.finalOutput) : String(result.finalOutput);
  }
}

function library(
  name: string,
  modelOf: (agents: Agents, client: OpenAiClient, model: string) => unknown,
): Library {
  return {
    name,
    open: async (target) => {
      const agents = await load<Agents>("@openai/agents");
      agents.setTracingDisabled(true);
      const client = await openAiClient(target);
      return new AgentsChat(agents, await load<Zod>("zod"), modelOf(agents, client, target.model));
    },
  };
}

export const AGENTS: readonly Library[] = [
  library(
    "@openai/agents, Responses",
    ({ OpenAIResponsesModel: Model }, client, model) => new Model(client, model),
  ),
  library(
    "@openai/agents, Chat Completions",
    ({ OpenAIChatCompletionsModel: Model }, client, model) => new Model(client, model),
  ),
];
