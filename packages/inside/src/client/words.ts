/** Requests of a person or a model for kept words, the same in every program. Imports nothing, as all of the client. */
import type { Conversation, HostClient, ProgramMessage } from "./host-client.ts";

const USAGE =
  "/pagurus search <words>, /pagurus open <id>, /pagurus pin [id], /pagurus left-out: what the last compaction took out of sight.";

export const OPEN_DESCRIPTION =
  "Gives the exact text of an entry that Pagurus keeps: a large tool result of which only a part is shown, or a message that a compaction took out of sight.";
export const SEARCH_DESCRIPTION =
  "Searches all messages of this conversation, also those that compactions took out of sight. Each line begins with the id that opens it.";

/** The text of an answer; none where it has no text. */
export function answerText({ text }: Record<string, unknown>): string {
  return typeof text === "string" ? text : "";
}

function leftOutText(left: unknown): string {
  if (typeof left !== "object" || left === null) return "No compaction has left anything out yet.";
  const { messages, requests } = left as { messages: number; requests: string[] };
  const lines = requests.map((line) => `  ${line.replaceAll(/\s+/g, " ").slice(0, 120)}`);
  return [
    `${messages} messages are out of sight and kept word for word. Your requests among them:`,
    ...lines,
  ].join("\n");
}

/** Runs one request, and returns its text or why there is none. */
export async function askedText(
  client: HostClient,
  at: Conversation,
  operation: string,
  body: object,
): Promise<string> {
  try {
    const answer = await client.ask(operation, at, body);
    return operation === "left-out" ? leftOutText(answer["left"]) : answerText(answer);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Answers `/pagurus …`. */
export async function commandText(client: HostClient, at: Conversation, args: string): Promise<string> {
  const [, verb = "", rest = ""] = /^(\S*)\s*([\s\S]*)$/.exec(args.trim()) ?? [];
  if (verb === "search" && rest !== "") return askedText(client, at, "search", { query: rest });
  if (verb === "open" && rest !== "") return askedText(client, at, "expand", { id: rest });
  if (verb === "pin") return askedText(client, at, "pin", { id: rest });
  if (verb === "left-out") return askedText(client, at, "left-out", {});
  return USAGE;
}

/** A message that stays, in a program that keeps none from before its newest ones: as a part of the head. */
export function keptWords({ role, text, calls, results }: ProgramMessage): string {
  const parts = [
    text,
    ...calls.map(({ name, input }) => `→ ${name} ${JSON.stringify(input)}`),
    ...results.map((result) => result.text),
  ];
  return `<kept_message role="${role}">\n${parts.filter((part) => part !== "").join("\n")}\n</kept_message>`;
}
