/**
 * Requests of Codex to the host in a turn: calls of the host's tools, and permission for its own tools, which the host's
 * hooks and permission rules decide.
 */
import type { HarnessTurn } from "@pagurus/contract/harness/harness";
import type { ImagePart, TextPart } from "@pagurus/contract/message";
import type { ToolOutcome } from "@pagurus/contract/harness/tool";
import { type Fields, stringOf } from "@pagurus/core/data/record-fields";
import { imageDataUrl } from "@pagurus/core/protocols/protocol-parts";

/** The file changes that an item of Codex has announced, by item id. */
export type AnnouncedChanges = ReadonlyMap<string, readonly { path: string; diff: string }[]>;

/** Context of a request, and the callback for its outcome. */
export interface RequestWatcher {
  announced: AnnouncedChanges;
  /** A tool of the host has answered; the answer is sent to Codex next. */
  onOutcome(callId: string, outcome: ToolOutcome): void;
}

/** A word of a command line, with quotes and escapes resolved, and its end; undefined for a truncated line. */
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

/** The command inside a shell call: Codex sends the three words of the call, quoted for a shell. */
export function bareCommand(command: string): string {
  const start = SHELL_CALL.exec(command)?.[0].length;
  const script = start === undefined ? undefined : wordAt(command, start);
  return script?.end === command.length ? script.word : command;
}

function contentItem(part: TextPart | ImagePart): object {
  return part.type === "text"
    ? { type: "inputText", text: part.text }
    : { type: "inputImage", imageUrl: imageDataUrl(part) };
}

async function callTool(turn: HarnessTurn, params: Fields, watcher: RequestWatcher): Promise<object> {
  const { callId, tool, arguments: args } = params;
  const values = typeof args === "object" && args !== null && !Array.isArray(args) ? args : {};
  const call = {
    type: "toolCall" as const,
    id: stringOf(callId),
    name: stringOf(tool),
    arguments: values as Record<string, unknown>,
  };
  const outcome = await turn.tools.call(call, turn.signal);
  watcher.onOutcome(call.id, outcome);
  const { content, isError } = outcome;
  // Codex does not mark a failed call for the model, so the text has to.
  const isSilentFailure =
    isError && !content.some((part) => part.type === "text" && /fail|error|denied|block/i.test(part.text));
  const parts = isSilentFailure ? [{ type: "text" as const, text: "The call failed." }, ...content] : content;
  return { contentItems: parts.map(contentItem), success: !isError };
}

async function decideCall(turn: HarnessTurn, id: string, name: string, args: Fields): Promise<object> {
  const call = { type: "toolCall" as const, id, name, arguments: args };
  const refusal = await turn.tools.permits(call, turn.signal);
  if (turn.signal.aborted) return { decision: "cancel" };
  return { decision: refusal === undefined ? "accept" : "decline" };
}

async function decideChanges(
  turn: HarnessTurn,
  params: Fields,
  announced: AnnouncedChanges,
): Promise<object> {
  const id = stringOf(params["itemId"]);
  // An unannounced change cannot be judged.
  const changes = announced.get(id) ?? [];
  for (const { path, diff } of changes.length > 0 ? changes : [{ path: "", diff: "" }]) {
    const answer = (await decideCall(turn, id, "write", { path, content: diff })) as { decision: string };
    if (answer.decision !== "accept") return answer;
  }
  return { decision: "accept" };
}

/** Undefined for a request that the host does not support. */
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
      return decideCall(turn, stringOf(params["itemId"]), "shell", {
        command: bareCommand(stringOf(params["command"])),
      });
    case "item/fileChange/requestApproval":
      return decideChanges(turn, params, watcher.announced);
    case "item/permissions/requestApproval":
      return Promise.resolve({ permissions: {}, scope: "turn" });
    default:
      return undefined;
  }
}
