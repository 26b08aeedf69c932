/** The package `@anthropic-ai/sdk`: messages, and its tool runner, which continues a message thread. */
import { PNG } from "../model-api/samples.ts";
import type { Target } from "../model-api/targets.ts";
import {
  load,
  MOST_TOKENS,
  PARAMETERS,
  RULES,
  SCHEMA,
  TOOL_NAMES,
  toolResult,
  type Library,
  type LibraryChat,
  type Turn,
} from "./library-chat.ts";

interface Block {
  type: string;
  text?: string;
  id?: string;
  name?: string;
  input?: unknown;
}

interface Answer {
  content: Block[];
}

interface Client {
  messages: {
    create(asked: object, how: object): Promise<Answer>;
    stream(asked: object, how: object): { finalMessage(): Promise<Answer> };
  };
  beta: {
    messages: {
      toolRunner(asked: object, how: object): PromiseLike<Answer> & { params: { messages: object[] } };
    };
  };
}

async function client({ url, key }: Target): Promise<Client> {
  const { default: Made } = await load<{ default: new (options: object) => Client }>("@anthropic-ai/sdk");
  return new Made({ apiKey: key, baseURL: url.replace(/\/v1$/, ""), maxRetries: 0 });
}

function textOf({ content }: Answer): string {
  return content.map(({ text = "" }) => text).join("");
}

class MessagesChat implements LibraryChat {
  readonly #client: Client;
  readonly #model: string;
  readonly #runs: boolean;
  #messages: object[] = [];

  constructor(made: Client, model: string, runs: boolean) {
    this.#client = made;
    this.#model = model;
    this.#runs = runs;
  }

  async ask({ kind, text }: Turn, signal?: AbortSignal): Promise<string> {
    const source = { type: "base64", media_type: "image/png", data: PNG };
    const content = [{ type: "text", text }, ...(kind === "image" ? [{ type: "image", source }] : [])];
    const messages = [...this.#messages, { role: "user", content }];
    const tools = TOOL_NAMES.map((name) => ({ name, description: name, input_schema: PARAMETERS }));
    const asked = {
      model: this.#model,
      max_tokens: MOST_TOKENS,
      // The mark of the documented way to cache, which says nothing about the request.
      system: [{ type: "text", text: RULES, cache_control: { type: "ephemeral" } }],
      ...(kind === "format"
        ? { output_config: { format: { type: "json_schema", schema: SCHEMA } } }
        : { tools }),
    };
    if (this.#runs && kind === "tools") return this.#run({ ...asked, messages }, signal);
    for (;;) {
      const answer =
        kind === "stream"
          ? await this.#client.messages.stream({ ...asked, messages }, { signal }).finalMessage()
          : await this.#client.messages.create({ ...asked, messages }, { signal });
      messages.push({ role: "assistant", content: answer.content } as never);
      const calls = answer.content.filter(({ type }) => type === "tool_use");
      if (calls.length === 0) {
        this.#messages = messages;
        return textOf(answer);
      }
      const results = calls.map(({ id, name = "", input }) => ({
        type: "tool_result",
        tool_use_id: id,
        content: toolResult(name, input),
      }));
      messages.push({ role: "user", content: results } as never);
    }
  }

  async #run(asked: object, signal: AbortSignal | undefined): Promise<string> {
    const tools = TOOL_NAMES.map((name) => ({
      type: "custom",
      name,
      description: name,
      input_schema: PARAMETERS,
      run: (input: unknown) => toolResult(name, input),
      parse: (input: unknown) => input,
    }));
    const runner = this.#client.beta.messages.toolRunner({ ...asked, tools }, { signal });
    const answer = await runner;
    const { messages } = runner.params;
    const isLast = JSON.stringify(messages.at(-1)).includes('"assistant"');
    this.#messages = [...messages, ...(isLast ? [] : [{ role: "assistant", content: answer.content }])];
    return textOf(answer);
  }
}

export const ANTHROPIC: readonly Library[] = [
  {
    name: "@anthropic-ai/sdk, messages",
    open: async (target) => new MessagesChat(await client(target), target.model, false),
  },
  {
    name: "@anthropic-ai/sdk, tool runner",
    open: async (target) => new MessagesChat(await client(target), target.model, true),
  },
];
