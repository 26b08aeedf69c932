/** Commands `/pin`, `/unpin`, `/pins`: entries that a user keeps verbatim in the context through every compaction. */
import { textOf } from "@pagurus/core/compaction/message-text";
import { PagurusError } from "@pagurus/contract/errors";
import type { PluginApi, PluginCommand, PluginCommandContext } from "@pagurus/contract/host/plugin";
import type { MessageEntry } from "@pagurus/contract/session/transcript";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import type { LosslessStore } from "../store/lossless-store.ts";
import type { Pin } from "../store/store-types.ts";

const EXCERPT_CHARS = 60;

interface PinHome {
  /** Why pins are refused; undefined when they are possible. */
  refusal(context: PluginCommandContext): string | undefined;
  /** The agent's store, opened for one command. */
  open(agentId: string): Promise<LosslessStore>;
  /** Limit on pinned text in a summary, tokens. */
  pinTokens: number;
}

function excerpt({ message }: MessageEntry): string {
  const flat = textOf(message).replaceAll(/\s+/g, " ").trim();
  const chars = [...flat];
  return `"${chars.length > EXCERPT_CHARS ? `${chars.slice(0, EXCERPT_CHARS - 1).join("")}…` : flat}"`;
}

async function lastOfUser({ transcript }: PluginCommandContext): Promise<MessageEntry | undefined> {
  for await (const entry of transcript.backward())
    if (entry.type === "message" && entry.message.role === "user") return entry;
  return undefined;
}

/** The message to pin: the named one, else the user's last. Throws `entry_not_found`. */
async function chosen(id: string, context: PluginCommandContext): Promise<MessageEntry> {
  const entry = id === "" ? await lastOfUser(context) : await context.transcript.get(id);
  if (entry?.type === "message") return entry;
  const what =
    id === "" ? "The session has no messages yet" : `The session has no message ${JSON.stringify(id)}`;
  const how = "/pin without an id pins your last message, and context_search or sessions show name entries";
  throw new PagurusError("entry_not_found", `${what}, so nothing is pinned; ${how}.`);
}

function parts(args: string): { id: string; note: string } {
  const [, id = "", note = ""] = /^(\S*)\s*([\s\S]*)$/.exec(args.trim()) ?? [];
  return { id, note: note.trim() };
}

/** Context of a command. */
interface Place {
  store: LosslessStore;
  sessionId: string;
  context: PluginCommandContext;
  pinTokens: number;
}

/** The pins, each with its message when the transcript has it. */
async function pinned({ store, sessionId, context }: Place): Promise<{ pin: Pin; entry?: MessageEntry }[]> {
  const found: { pin: Pin; entry?: MessageEntry }[] = [];
  for (const pin of store.has(sessionId) ? store.pins(sessionId) : []) {
    const entry = await context.transcript.get(pin.entryId);
    found.push({ pin, ...(entry?.type === "message" ? { entry } : {}) });
  }
  return found;
}

/** A warning when the pins exceed their share of a summary; empty when they fit. */
async function warning(place: Place): Promise<string> {
  let tokens = 0;
  for (const { entry } of await pinned(place)) tokens += entry ? estimateTokens(textOf(entry.message)) : 0;
  if (tokens <= place.pinTokens) return "";
  return ` But all pins together have ${tokens} tokens and a summary shows at most ${place.pinTokens} of them: the oldest that fit are shown, the others can only be searched.`;
}

/** Writes the change to the session's log; a sentence where that has to wait. */
async function logged({ store, sessionId, context: { remember } }: Place): Promise<string> {
  const { writeLog } = await import("../log/write-log.ts");
  if (!remember || writeLog({ store, sessionId, remember, isLive: false })) return "";
  return " The session's log has it after the session's next turn; until then only this host does.";
}

async function pin(place: Place, args: string): Promise<string> {
  const { store, sessionId, context } = place;
  const { id, note } = parts(args);
  const entry = await chosen(id, context);
  // The session may not be in the store yet: its first turn with the engine adopts the rest.
  store.openSession(sessionId, { sessionKey: context.sessionKey });
  const wanted = { entryId: entry.id, pinnedAt: Date.now(), ...(note === "" ? {} : { note }) };
  const isNew = store.transaction(() => {
    if (!store.pin(sessionId, wanted)) return false;
    store.owe(sessionId, "pin", entry.id);
    return true;
  });
  if (!isNew) return `Entry ${entry.id} was pinned already.`;
  const but = (await logged(place)) + (await warning(place));
  return `Pinned ${entry.id}: ${excerpt(entry)}. It stays word for word through every compaction.${but}`;
}

async function unpin(place: Place, args: string): Promise<string> {
  const { store, sessionId } = place;
  const { id } = parts(args);
  if (id === "") return "Usage: /unpin <id>; /pins lists the ids.";
  const was = store.transaction(() => {
    if (!store.has(sessionId) || !store.unpin(sessionId, id)) return false;
    store.owe(sessionId, "pin", id);
    return true;
  });
  if (!was) return `Entry ${id} was not pinned; /pins lists what is.`;
  return `Entry ${id} is not pinned any more.${await logged(place)}`;
}

async function pins(place: Place): Promise<string> {
  const all = await pinned(place);
  if (all.length === 0) return "Nothing is pinned. /pin keeps your last message, /pin and an id any other.";
  const lines = all.map(({ pin: { entryId, note }, entry }) => {
    const words = entry ? `${entry.message.role}  ${excerpt(entry)}` : "(not there any more)";
    return `${entryId}  ${words}${note === undefined ? "" : `  ${note}`}`;
  });
  return lines.join("\n");
}

/** Registers the three commands; they refuse while another engine is in the slot. */
export function registerPinCommands(api: PluginApi, home: PinHome): void {
  const command = (
    name: string,
    usage: string,
    summary: string,
    work: (place: Place, args: string) => Promise<string>,
  ): PluginCommand => ({
    name,
    usage,
    summary,
    reach: "session",
    async run(args, context) {
      const refusal = home.refusal(context);
      if (refusal !== undefined) return refusal;
      const { sessionId, agentId } = context;
      if (sessionId === undefined) return "The session has no messages yet, so there is nothing to pin.";
      const store = await home.open(agentId);
      try {
        const { readPins } = await import("../log/read-log.ts");
        await readPins(store, sessionId, context.transcript);
        return await work({ store, sessionId, context, pinTokens: home.pinTokens }, args);
      } finally {
        await store.close();
      }
    },
  });
  api.registerCommand(
    command("pin", "[id] [note]", "Keep an entry word for word in sight (default: your last message).", pin),
  );
  api.registerCommand(command("unpin", "<id>", "Let a pinned entry be summarized like any other.", unpin));
  api.registerCommand(command("pins", "", "List what is pinned.", pins));
}
