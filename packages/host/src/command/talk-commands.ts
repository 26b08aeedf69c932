/** Commands around the words of a conversation: find, copy, export, fork, and two prepared requests. */
import { createWriteStream } from "node:fs";
import { resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { PagurusError } from "@pagurus/contract/errors";
import { bytes, oneLine, time } from "./layout.ts";
import { messageText } from "./rewind.ts";
import { say, type CommandContext, type CommandResult, type SlashCommand } from "./command-types.ts";

const MOST_LISTED_HITS = 20;

async function search(args: string, context: CommandContext): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId } = context;
  if (args === "") return say("Say /search and the words to find.");
  const hits = pagurus.sessions(agentId).search(args, { sessionKey, limit: MOST_LISTED_HITS });
  if (hits.length === 0) return Promise.resolve(say(`Nothing in this conversation matches "${args}".`));
  const lines = hits.map(
    ({ role, timestamp, snippet, onPath }) =>
      `${time(timestamp)}  ${role}${onPath ? "" : " (undone)"}: ${oneLine(snippet, 200)}`,
  );
  return Promise.resolve(say(lines.join("\n")));
}

/** The newest answer with words. */
async function lastAnswer({ pagurus, sessionKey, agentId }: CommandContext): Promise<string | undefined> {
  const store = pagurus.sessions(agentId);
  if (!store.find(sessionKey)) return undefined;
  const reader = store.openReader(sessionKey);
  try {
    for await (const entry of reader.cursor.backward()) {
      if (entry.type !== "message" || entry.message.role !== "assistant") continue;
      const text = messageText(entry.message);
      if (text !== "") return text;
    }
    return undefined;
  } finally {
    reader.close();
  }
}

async function copy(_args: string, context: CommandContext): Promise<CommandResult> {
  const text = await lastAnswer(context);
  if (text === undefined) return say("There is no answer to copy yet.");
  return say(`Copied the last answer (${bytes(Buffer.byteLength(text))}).`, { type: "copy", text });
}

async function exportAll(args: string, context: CommandContext): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId, cwd } = context;
  const store = pagurus.sessions(agentId);
  if (!store.find(sessionKey)) return say("This conversation is empty; there is nothing to export.");
  const file = resolve(cwd, args === "" ? `${sessionKey.replaceAll(/[^\w.-]+/g, "-")}.md` : args);
  const format = file.endsWith(".jsonl") ? "jsonl" : "markdown";
  try {
    await pipeline(store.export(sessionKey, format), createWriteStream(file, { flags: "wx", mode: 0o600 }));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new PagurusError("usage_invalid", `${file} exists; name another file, as /export notes.md.`);
  }
  return say(`Exported to ${file}.`);
}

async function fork(args: string, { pagurus, sessionKey, agentId }: CommandContext): Promise<CommandResult> {
  const store = pagurus.sessions(agentId);
  if (!store.find(sessionKey)) return say("This conversation is empty; there is nothing to fork.");
  let key = args;
  for (let count = 2; key === ""; count++)
    if (!store.find(`${sessionKey}-${count}`)) key = `${sessionKey}-${count}`;
  await store.fork(sessionKey, key);
  const text = `This is a copy under "${key}"; the conversation under "${sessionKey}" stays as it is.`;
  return say(text, { type: "session", sessionKey: key });
}

const INIT =
  "Look at this project (its layout, build files, tests and conventions) and write AGENTS.md for the agents that work on it: what it is, how to build and test it, the rules of its code, and what to watch out for. Improve the file if it exists. Keep it under 80 lines and name only what the files show.";
const REVIEW =
  "Review the changes in this workspace that are not committed. Read the diff and the code around it. Report defects first, each with its file and line, the reason, and a fix; then risks and missing tests. Do not change any file.";

function prepared(name: string, summary: string, prompt: string): SlashCommand {
  return {
    name,
    usage: "[more]",
    summary,
    run: (args) =>
      Promise.resolve(say("", { type: "prompt", prompt: args === "" ? prompt : `${prompt}\n\n${args}` })),
  };
}

export const talkCommands: readonly SlashCommand[] = [
  {
    name: "search",
    usage: "<words>",
    summary: "Find words in this conversation, also in what was compacted.",
    run: search,
  },
  { name: "copy", usage: "", summary: "Copy the last answer to the clipboard.", run: copy },
  {
    name: "export",
    usage: "[file]",
    summary: "Write the conversation to a Markdown or .jsonl file.",
    run: exportAll,
  },
  { name: "fork", usage: "[key]", summary: "Continue in a copy of this conversation.", run: fork },
];

/** Prompts that the program supplies; a command file of the person with the same name takes precedence. */
export const preparedRequests: readonly SlashCommand[] = [
  prepared("init", "Have the agent write AGENTS.md for this project.", INIT),
  prepared("review", "Have the agent review the changes that are not committed.", REVIEW),
];
