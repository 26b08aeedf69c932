/** The model of the old homes: local servers whose answers depend on the last input alone. */
import {
  startServer,
  type ModelServer,
  type ReplyStep,
  type RecordedRequest,
} from "../../test/servers/server.ts";

export type Item = Record<string, unknown>;

/** The tool calls that a prompt can ask for, by the word that it contains. */
const CALLS: Record<string, Record<string, { name: string; arguments: Item }>> = {
  host: {
    "READ-THE-NOTE": { name: "read", arguments: { path: "note.txt" } },
    "ASK-THE-MEMORY": { name: "memory_search", arguments: { query: "lighthouse keeper" } },
  },
  codex: { "READ-THE-NOTE": { name: "exec_command", arguments: { cmd: "cat note.txt" } } },
};

/** With the parts that the built-in summaries must have. */
const SUMMARY = ["Goal", "State", "Decisions and constraints", "Open asks"]
  .map((title) => `## ${title}\n- The user asked about the harbour, and got an answer to each question.`)
  .join("\n\n");

/** The conversation of a request, in either protocol. */
function itemsOf({ body }: RecordedRequest): Item[] {
  return (body["messages"] ?? body["input"] ?? []) as Item[];
}

/** Without the system prompt, which may differ between versions. */
export function conversationOf(request: RecordedRequest): Item[] {
  return itemsOf(request).filter(({ role }) => role !== "system" && role !== "developer");
}

function answer(
  request: RecordedRequest,
  index: number,
  calls: Record<string, { name: string; arguments: Item }>,
): ReplyStep {
  const tools = request.body["tools"];
  if (!Array.isArray(tools) || tools.length === 0) return { text: `Summary ${index}.\n\n${SUMMARY}` };
  const last = JSON.stringify(
    itemsOf(request).findLast(({ role }) => role !== "system" && role !== "developer"),
  );
  const word = Object.keys(calls).find((each) => last.includes(each) && /"role":"user"/.test(last));
  const call = word === undefined ? undefined : calls[word];
  if (call) return { text: `I look, ${index}.`, toolCalls: [{ id: `call-${index}`, ...call }] };
  return { text: `Answer ${index} of the harbour master.` };
}

export interface Endpoints {
  completions: ModelServer;
  responses: ModelServer;
  /** The endpoint of the real Codex, whose tools have names of their own. */
  codex: ModelServer;
  close(): Promise<void>;
}

export async function startEndpoints(): Promise<Endpoints> {
  const start = (
    protocol: "openai-completions" | "openai-responses",
    calls: keyof typeof CALLS,
  ): Promise<ModelServer> =>
    startServer({
      protocol,
      models: ["m"],
      script: (request, index) => answer(request, index, CALLS[calls] ?? {}),
    });
  const completions = await start("openai-completions", "host");
  const responses = await start("openai-responses", "host");
  const codex = await start("openai-responses", "codex");
  return {
    completions,
    responses,
    codex,
    close: async () => {
      for (const server of [completions, responses, codex]) await server.close();
    },
  };
}
