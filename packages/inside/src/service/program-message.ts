/** Messages of a program as its adapter sends them, and their conversion to stored messages. */
import type { AgentMessage, AssistantMessage, ToolResultMessage } from "@pagurus/contract/message";
import { filledString, isRecord, recordOf, recordsOf, stringOf } from "@pagurus/core/data/record-fields";

export interface ProgramCall {
  id: string;
  name: string;
  input: Record<string, unknown>;
}

export interface ProgramResult {
  id: string;
  text: string;
  isError: boolean;
}

/** One message of the program's conversation: text, tool calls, results of tool calls. */
export interface ProgramMessage {
  role: "user" | "assistant";
  text: string;
  calls: ProgramCall[];
  results: ProgramResult[];
  /** Who wrote it, where it is not the person or the model: `hook`, `plugin x`. */
  origin?: string;
}

/** Reads what an adapter sent; undefined for what is no message. */
export function readMessage(value: unknown): ProgramMessage | undefined {
  if (!isRecord(value)) return undefined;
  const role = value["role"];
  if (role !== "user" && role !== "assistant") return undefined;
  const origin = filledString(value["origin"]);
  return {
    role,
    text: stringOf(value["text"]),
    calls: recordsOf(value["calls"]).flatMap((call) => {
      const id = filledString(call["id"]);
      return id === undefined ? [] : [{ id, name: stringOf(call["name"]), input: recordOf(call["input"]) }];
    }),
    results: recordsOf(value["results"]).flatMap((result) => {
      const id = filledString(result["id"]);
      return id === undefined
        ? []
        : [{ id, text: stringOf(result["text"]), isError: result["isError"] === true }];
    }),
    ...(origin === undefined ? {} : { origin }),
  };
}

/** Facts about the tool calls of a conversation that a single result lacks. */
export interface KnownCalls {
  /** Names of tools by the id of the call. */
  names: Map<string, string>;
  /** Whole texts of results that the program has as stubs, by the id of the call. */
  originals: ReadonlyMap<string, string>;
}

/** The messages of ours that one message of a program is, none for an empty one. */
export function agentMessages(message: ProgramMessage, known: KnownCalls): AgentMessage[] {
  const { role, text, calls, results, origin } = message;
  if (role === "assistant") {
    for (const { id, name } of calls) known.names.set(id, name);
    const content: AssistantMessage["content"] = [
      ...(text === "" ? [] : [{ type: "text" as const, text }]),
      ...calls.map(({ id, name, input }) => ({ type: "toolCall" as const, id, name, arguments: input })),
    ];
    return content.length === 0 ? [] : [{ role: "assistant", content }];
  }
  const answered = results.map(({ id, text: result, isError }): ToolResultMessage => ({
    role: "toolResult",
    toolCallId: id,
    toolName: known.names.get(id) ?? "",
    content: [{ type: "text", text: known.originals.get(id) ?? result }],
    isError,
  }));
  if (text === "") return answered;
  const source = origin === undefined ? {} : { source: origin };
  return [...answered, { role: "user", content: [{ type: "text", text, ...source }] }];
}

function textsOf(content: AgentMessage["content"]): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** Two messages with the same mark are the same one; a result is known by its call, whatever the program made of its text. */
export function markOf(message: AgentMessage): string {
  if (message.role === "toolResult") return `result ${message.toolCallId}`;
  if (message.role === "user") return `user ${textsOf(message.content)}`;
  const ids = message.content.flatMap((part) => (part.type === "toolCall" ? part.id : []));
  return `assistant ${ids.join(" ")} ${textsOf(message.content)}`;
}
