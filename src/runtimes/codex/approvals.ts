/**
 * Requests that Codex sends to the host in a turn: calls of the host's tools, and whether its own tools may do what they
 * are about to do, which the host's hooks and permission rules decide.
 */
import type { HarnessTurn } from "../../contract/harness.ts";
import type { ImagePart, TextPart } from "../../contract/message.ts";
import type { ToolOutcome } from "../../contract/tool.ts";
import { text, type Fields } from "./fields.ts";

/** The file changes that an item of Codex has announced, by item id. */
export type AnnouncedChanges = ReadonlyMap<string, readonly { path: string; diff: string }[]>;

/** What a request of Codex needs beside itself, and who hears of what came of it. */
export interface RequestWatcher {
  announced: AnnouncedChanges;
  /** A tool of the host has answered; Codex is told next. */
  onOutcome(callId: string, outcome: ToolOutcome): void;
}

/** A word of a command line, quotes and escapes resolved, and where it ends; undefined for a line that is cut short. */
function wordAt(line: string, from: number): { word: string; end: number } | undefined {
  let word = "";
  let quote = "";
  for (let at = from; at < line.length; at += 1) {
    const char = line[at] ?? "";
    const next = line[at + 1] ?? "";
    if (quote === "" && char === " ") return { word, end: at };
    if (char === quote) quote = "";
    else if (quote === "" && (char === "'" || char === '"')) quote = char;
    else if (char === "\\" && (quote === "" || (quote === '"' && '$`"\\'.includes(next)))) {
      word += next;
      at += 1;
    } else word += char;
  }
  return quote === "" ? { word, end: line.length } : undefined;
}

const SHELL_CALL = /^\S*\/?(?:bash|sh|zsh) -l?c (?=\S)/;

/** What a shell was asked to run, without the shell: Codex tells the three words of the call, quoted as a shell reads them. */
export function bareCommand(command: string): string {
  const start = SHELL_CALL.exec(command)?.[0].length;
  const script = start === undefined ? undefined : wordAt(command, start);
  return script?.end === command.length ? script.word : command;
}

function contentItem(part: TextPart | ImagePart): object {
  return part.type === "text"
    ? { type: "inputText", text: part.text }
    : { type: "inputImage", imageUrl: `data:${part.mimeType};base64,${part.data}` };
}

async function callTool(turn: HarnessTurn, params: Fields, watcher: RequestWatcher): Promise<object> {
  const { callId, tool, arguments: given } = params;
  const values = typeof given === "object" && given !== null && !Array.isArray(given) ? given : {};
  const call = {
    type: "toolCall" as const,
    id: text(callId),
    name: text(tool),
    arguments: values as Record<string, unknown>,
  };
  const outcome = await turn.tools.call(call, turn.signal);
  watcher.onOutcome(call.id, outcome);
  const { content, isError } = outcome;
  // Codex does not tell the model that a call failed: the words have to.
  const said =
    isError && !content.some((part) => part.type === "text" && /fail|error|denied|block/i.test(part.text));
  const parts = said ? [{ type: "text" as const, text: "The call failed." }, ...content] : content;
  return { contentItems: parts.map(contentItem), success: !isError };
}

async function decide(turn: HarnessTurn, id: string, name: string, given: Fields): Promise<object> {
  const call = { type: "toolCall" as const, id, name, arguments: given };
  const refusal = await turn.tools.permits(call, turn.signal);
  if (turn.signal.aborted) return { decision: "cancel" };
  return { decision: refusal === undefined ? "accept" : "decline" };
}

async function decideChanges(
  turn: HarnessTurn,
  params: Fields,
  announced: AnnouncedChanges,
): Promise<object> {
  const id = text(params["itemId"]);
  // What was not announced cannot be judged.
  const changes = announced.get(id) ?? [];
  for (const { path, diff } of changes.length > 0 ? changes : [{ path: "", diff: "" }]) {
    const answer = (await decide(turn, id, "write", { path, content: diff })) as { decision: string };
    if (answer.decision !== "accept") return answer;
  }
  return { decision: "accept" };
}

/** Undefined where Codex asks for something that the host does not do. */
export function answerRequest(
  turn: HarnessTurn,
  method: string,
  params: Fields,
  watcher: RequestWatcher,
): Promise<object> | undefined {
  switch (method) {
    case "item/tool/call":
      return callTool(turn, params, watcher);
    case "item/commandExecution/requestApproval":
      return decide(turn, text(params["itemId"]), "shell", { command: bareCommand(text(params["command"])) });
    case "item/fileChange/requestApproval":
      return decideChanges(turn, params, watcher.announced);
    case "item/permissions/requestApproval":
      return Promise.resolve({ permissions: {}, scope: "turn" });
    default:
      return undefined;
  }
}
