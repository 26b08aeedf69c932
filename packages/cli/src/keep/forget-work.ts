/** `keep forget`: deletes conversations from the archive. */
import { resolveHome } from "@pagurus/core/config/config-paths";
import { plural } from "@pagurus/core/data/plain-numbers";
import { oneLine, table, terminalSafe } from "@pagurus/host/command/layout";
import type { FileRow } from "@pagurus/keeper/archive/archive";
import { forgetFiles } from "@pagurus/keeper/archive/forget";
import { keeperPlace, runningKeeper } from "@pagurus/keeper/keeper-place";
import { programLabel } from "@pagurus/keeper/loss-words";
import type { KeptWords } from "@pagurus/keeper/words/kept-words";
import type { ConversationRow } from "@pagurus/keeper/words/words-database";
import { printJson, printLine, type Cli } from "../cli.ts";
import { EXIT_DONE, usageError } from "../cli-failure.ts";
import { dayOf, filterOf, foundConversation, withWords, type LookOptions } from "./keep-look.ts";
import { withKeeper } from "./keep-work.ts";

export interface ForgetOptions extends LookOptions {
  words?: string;
  yes?: boolean;
}

/** A shorter id at its program may be a part of any path. */
const LEAST_ID = 16;
const ALL_HITS = 1_000_000;

interface Chosen {
  conversations: ConversationRow[];
  files: FileRow[];
}

/** Without `--yes` it only lists what it would delete. */
export async function keepForget(
  cli: Cli,
  name: string | undefined,
  options: ForgetOptions,
): Promise<number> {
  const { conversations, files } = await withWords(cli, async (words) => {
    const chosen = chosenBy(cli, words, name, options);
    return { conversations: chosen, files: filesOf(words, chosen) } satisfies Chosen;
  });
  const isDone = options.yes === true && files.length > 0;
  if (isDone) await forget(cli, files);
  if (options.json === true) {
    printJson(cli, { forgotten: isDone, conversations, files: files.map(({ path }) => path) });
    return EXIT_DONE;
  }
  const rows = conversations.map(({ id, agent, native, folder, title, last_at: last }) => [
    String(id),
    programLabel(agent),
    dayOf(last),
    oneLine(folder ?? "", 40),
    oneLine(title ?? native, 50),
  ]);
  for (const line of table(["", "program", "last", "folder", "conversation"], rows, [0]))
    printLine(cli.stdout, terminalSafe(line));
  const what = `${plural(conversations.length, "conversation")} in ${plural(files.length, "file")}`;
  printLine(
    cli.stdout,
    isDone
      ? `Deleted ${what} from the archive; their files at the programs are as they were, and are not kept again.`
      : `Would delete ${what} from the archive; --yes does.`,
  );
  return EXIT_DONE;
}

async function forget(cli: Cli, files: readonly FileRow[]): Promise<void> {
  const home = resolveHome(cli.env);
  const running = runningKeeper(home);
  if (running)
    throw usageError(
      `Process ${running.pid} keeps now; end it (Ctrl+C, or pagurus serve stop) and run this again.`,
    );
  const ids = new Set(files.map(({ id }) => id));
  await withKeeper(
    cli,
    // The words are read again from the bytes that are left.
    (keeper) => keeper.words.update(),
    () => forgetFiles(keeperPlace(home).folder, ids, Date.now()),
  );
}

function chosenBy(
  cli: Cli,
  words: KeptWords,
  name: string | undefined,
  options: ForgetOptions,
): ConversationRow[] {
  if (name !== undefined) return withChildren(words, [foundConversation(words, name)]);
  const filter = filterOf(cli, options);
  if (Object.values(filter).every((each) => each === undefined) && options.words === undefined)
    throw usageError(
      "Name a conversation, or choose some with --words, --folder, --agent, --since or --until.",
    );
  if (options.words !== undefined) {
    const hits = words.search(options.words, { ...filter, limit: ALL_HITS, isExact: true });
    const found = new Map(hits.map(({ conversation }) => [conversation.id, conversation]));
    return withChildren(words, [...found.values()]);
  }
  const { since = 0, until = Infinity } = filter;
  return words
    .conversations(filter)
    .filter(({ last_at: last }) => (last ?? 0) >= since && (last ?? 0) < until);
}

/** With the conversations of subagents. */
function withChildren(words: KeptWords, found: readonly ConversationRow[]): ConversationRow[] {
  const all = new Map(found.map((each) => [each.id, each]));
  for (const each of all.values()) for (const child of words.children(each.native)) all.set(child.id, child);
  return [...all.values()];
}

/** Throws `usage_invalid` for a file that also has other conversations. */
function filesOf(words: KeptWords, conversations: readonly ConversationRow[]): FileRow[] {
  const chosen = new Set(conversations.map(({ id }) => id));
  const files = new Map<number, FileRow>();
  for (const { id, native } of conversations) {
    for (const file of words.filesOf(id)) files.set(file, words.archive.file(file));
    if (native.length < LEAST_ID) continue;
    // Side files, lists and earlier contents of files, which have its id in their path.
    for (const file of words.archive.files()) if (file.path.includes(native)) files.set(file.id, file);
  }
  for (const { id, path } of files.values()) {
    const others = words.conversationsOf(id).filter((each) => !chosen.has(each));
    if (others.length > 0)
      throw usageError(
        `${path} also has ${plural(others.length, "other conversation")} (${others.slice(0, 5).join(", ")}), which would be deleted with it; choose them as well.`,
      );
  }
  return [...files.values()];
}
