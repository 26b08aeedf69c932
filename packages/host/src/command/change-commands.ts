/** `/diff`, the changes of files that tools made, and `/tree`, the branches of the conversation. */
import type { TranscriptCursor } from "@pagurus/contract/session/transcript";
import { plural } from "@pagurus/core/data/plain-numbers";
import { say, type CommandContext, type CommandResult, type SlashCommand } from "./command-types.ts";
import { changeCounts, changesOfCall, diffText, digitsOf, type FileChange } from "./file-changes.ts";
import { ago, oneLine } from "./layout.ts";
import { messageText, rewindSession, typedText } from "./rewind.ts";
import { sessionTree, treeRows, type TreeRow } from "./session-tree.ts";

interface TurnChanges {
  changes: FileChange[];
  /** Words of the person that began it. */
  text: string;
}

/** Changes of the newest turn that made some, or of the whole conversation; the oldest first. */
async function changesOf(cursor: TranscriptCursor, isWhole: boolean): Promise<TurnChanges> {
  const results = new Map<string, string>();
  const changes: FileChange[] = [];
  let text = "";
  for await (const entry of cursor.backward()) {
    if (entry.type !== "message") continue;
    const { message } = entry;
    if (message.role === "toolResult") {
      if (!message.isError) results.set(message.toolCallId, messageText(message));
    } else if (message.role === "assistant") {
      const calls = message.content.filter((part) => part.type === "toolCall").toReversed();
      for (const { id, name, arguments: args } of calls) {
        const result = results.get(id);
        if (result !== undefined) changes.unshift(...changesOfCall(name, args, result));
      }
    } else if (changes.length > 0) {
      text = typedText(message);
      if (!isWhole) break;
    }
  }
  return { changes, text };
}

/** Changes of the same file one after the other, in the order of the files' first changes. */
function byFile(changes: readonly FileChange[]): FileChange[] {
  return [...Map.groupBy(changes, ({ path }) => path)].map(([path, ofFile]) => ({
    path,
    lines: ofFile.flatMap(({ lines }, index) =>
      index === 0 ? [...lines] : [{ kind: "gap" as const, text: "" }, ...lines],
    ),
  }));
}

const NOT_COMMANDS = "Changes that commands made are not among them; !git diff shows all.";

async function diff(args: string, context: CommandContext): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId } = context;
  const isWhole = args === "all";
  if (args !== "" && !isWhole) return say("Say /diff for the last turn with changes, or /diff all.");
  const store = pagurus.sessions(agentId);
  if (!store.find(sessionKey)) return say("This conversation is empty; nothing has changed.");
  const reader = store.openReader(sessionKey);
  try {
    const { changes, text } = await changesOf(reader.cursor, isWhole);
    if (changes.length === 0) return say(`No tool of this conversation has changed a file. ${NOT_COMMANDS}`);
    const files = byFile(changes);
    const whose = isWhole ? "this conversation" : `"${oneLine(text, 60)}"`;
    const title = `${plural(files.length, "file")}, ${changeCounts(files)} in ${whose}. ${NOT_COMMANDS}`;
    if (context.showChanges) {
      context.showChanges(files);
      return say(title);
    }
    const lines = files.flatMap((file) => [
      file.path,
      ...file.lines.map((line) => diffText(line, digitsOf(file.lines))),
    ]);
    return say([...lines, title].join("\n"));
  } finally {
    reader.close();
  }
}

async function tree(args: string, context: CommandContext): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId, pick } = context;
  const store = pagurus.sessions(agentId);
  if (!store.find(sessionKey)) return say("This conversation is empty; it has no branches.");
  const rows = treeRows(await sessionTree(store, sessionKey));
  if (rows.length === 0) return say("This conversation is empty; it has no branches.");
  if (args !== "") return goTo(Number(args), rows, context);
  const now = Date.now();
  if (!pick) {
    const lines = rows.map(({ label, isEnd }, index) => `${index + 1}  ${label}${isEnd ? "  (now)" : ""}`);
    return say(["Say /tree and a number to continue after that turn:", ...lines].join("\n"));
  }
  const choices = rows.map(({ label, turn, isEnd }, index) => ({
    value: String(index + 1),
    label,
    description: isEnd ? "now" : ago(turn.timestamp, now),
  }));
  const end = rows.findIndex(({ isEnd }) => isEnd);
  const picked = await pick("Continue after which turn?", choices, String(end + 1));
  return picked === undefined ? say("") : goTo(Number(picked), rows, context);
}

function goTo(number: number, rows: readonly TreeRow[], context: CommandContext): CommandResult {
  const row = rows[number - 1];
  if (!row) return say(`There is no such turn; /tree takes a number from 1 to ${rows.length}.`);
  const { pagurus, sessionKey, agentId, cwd } = context;
  const words = oneLine(row.turn.text, 60);
  if (row.isEnd) return say(`The conversation ends after "${words}" already.`);
  rewindSession(pagurus.sessions(agentId), sessionKey, row.turn.last, cwd);
  const text = `The conversation continues after "${words}". Files are unchanged.`;
  return say(text, { type: "rewound" });
}

export const changeCommands: readonly SlashCommand[] = [
  {
    name: "diff",
    usage: "[all]",
    summary: "Show what the last turn, or all of them, changed in files.",
    run: diff,
  },
  {
    name: "tree",
    usage: "[number]",
    summary: "Show the branches of this conversation, and continue on one.",
    run: tree,
  },
];
