/** The package `openai`: Chat Completions and Responses, the latter with the whole input and with the previous response. */
import { PNG } from "../model-api/samples.ts";
import type { Target } from "../model-api/targets.ts";
import {
  load,
  PARAMETERS,
  RULES,
  SCHEMA,
  TOOL_NAMES,
  toolResult,
  type Library,
  type LibraryChat,
  type Turn,
} from "./library-chat.ts";

interface Message {
  role: string;
  content: unknown;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
}

interface Item {
  type: string;
  call_id: string;
  name: string;
  arguments: string;
}

interface Answer {
  id: string;
  output: Item[];
  output_text: string;
}

export interface OpenAiClient {
  chat: {
    completions: {
      create(asked: object, how: object): Promise<{ choices: { message: Message }[] }>;
      stream(
        asked: object,
        how: object,
      ): { finalChatCompletion(): Promise<{ choices: { message: Message }[] }> };
    };
  };
  responses: {
    create(asked: object, how: object): Promise<Answer>;
    stream(asked: object, how: object): { finalResponse(): Promise<Answer> };
  };
}

export async function openAiClient({ url, key }: Target): Promise<OpenAiClient> {
  const { default: Client } = await load<{ default: new (options: object) => OpenAiClient }>("openai");
  return new Client({ apiKey: key, baseURL: url, maxRetries: 0 });
}

const IMAGE = `data:image/png;base64,${PNG}`;

class CompletionsChat implements LibraryChat {
  readonly #client: OpenAiClient;
  readonly #model: string;
  #messages: Message[] = [{ role: "system", content: RULES }];

  constructor(client: OpenAiClient, model: string) {
    this.#client = client;
    this.#model = model;
  }

  async ask({ kind, text }: Turn, signal?: AbortSignal): Promise<string> {
    const image = [
      { type: "text", text },
      { type: "image_url", image_url: { url: IMAGE } },
    ];
    const messages = [...this.#messages, { role: "user", content: kind === "image" ? image : text }];
    const json_schema = { name: "place", schema: SCHEMA, strict: true };
    const asked = {
      model: this.#model,
      tools: TOOL_NAMES.map((name) => ({ type: "function", function: { name, parameters: PARAMETERS } })),
      ...(kind === "format" ? { response_format: { type: "json_schema", json_schema } } : {}),
    };
    for (;;) {
      const { completions } = this.#client.chat;
      const { choices } =
        kind === "stream"
          ? await completions.stream({ ...asked, messages }, { signal }).finalChatCompletion()
          : await completions.create({ ...asked, messages }, { signal });
      const message = choices[0]?.message;
      if (!message) throw new Error("The answer has no message.");
      messages.push(message);
      for (const { id, function: call } of message.tool_calls ?? []) {
        const content = toolResult(call.name, call.arguments);
        messages.push({ role: "tool", tool_call_id: id, content } as Message);
      }
      if ((message.tool_calls ?? []).length > 0) continue;
      this.#messages = messages;
      return String(message.content);
    }
  }
}

class ResponsesChat implements LibraryChat {
  readonly #client: OpenAiClient;
  readonly #model: string;
  readonly #continues: boolean;
  #items: object[] = [];
  #previous: string | undefined;

  constructor(client: OpenAiClient, model: string, continues: boolean) {
    this.#client = client;
    this.#model = model;
    this.#continues = continues;
  }

  async ask({ kind, text }: Turn, signal?: AbortSignal): Promise<string> {
    const words = { type: "input_text", text };
    const image = [words, { type: "input_image", image_url: IMAGE }];
    let items: object[] = [...this.#items, { role: "user", content: kind === "image" ? image : [words] }];
    let previous = this.#previous;
    const format = { type: "json_schema", name: "place", schema: SCHEMA, strict: true };
    for (;;) {
      const asked = {
        model: this.#model,
        instructions: RULES,
        input: items,
        tools: TOOL_NAMES.map((name) => ({ type: "function", name, parameters: PARAMETERS, strict: false })),
        ...(previous === undefined ? {} : { previous_response_id: previous }),
        ...(kind === "format" ? { text: { format } } : {}),
      };
      const { responses } = this.#client;
      const answer =
        kind === "stream"
          ? await responses.stream(asked, { signal }).finalResponse()
          : await responses.create(asked, { signal });
      const calls = answer.output.filter(({ type }) => type === "function_call");
      const results = calls.map(({ call_id, name, arguments: args }) => ({
        type: "function_call_output",
        call_id,
        output: toolResult(name, args),
      }));
      if (this.#continues) previous = answer.id;
      items = this.#continues ? results : [...items, ...answer.output, ...results];
      if (calls.length > 0) continue;
      this.#items = items;
      this.#previous = previous;
      return answer.output_text;
    }
  }
}

export const OPENAI: readonly Library[] = [
  {
    name: "openai, Chat Completions",
    open: async (target) => new CompletionsChat(await openAiClient(target), target.model),
  },
  {
    name: "openai, Responses with the whole input",
    open: async (target) => new ResponsesChat(await openAiClient(target), target.model, false),
  },
  {
    name: "openai, Responses with the previous response",
    open: async (target) => new ResponsesChat(await openAiClient(target), target.model, true),
  },
];
