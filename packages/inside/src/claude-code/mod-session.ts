/** The mod's state: the client, and which rows of each conversation the host has. */
import {
  FallBack,
  HostClient,
  type Conversation,
  type Place,
  type ProgramMessage,
} from "../client/host-client.ts";
import type { ModEngine, ModMessage } from "./mod-types.ts";

const PROGRAM = "claude-code";
/** Most rows that Claude Code returns of a conversation. */
const MOST_ROWS = 4_096;

export function programMessage({ role, text, toolUses, toolResults = [] }: ModMessage): ProgramMessage {
  return {
    role,
    text,
    calls: toolUses.map(({ tool_use_id: id, tool: name, input }) => ({ id, name, input })),
    results: toolResults.map(({ tool_use_id: id, text: result, isError }) => ({ id, text: result, isError })),
  };
}

/** Throws `FallBack` for what is no list of messages as this mod knows them. */
export function checkedMessages(value: unknown): readonly ModMessage[] {
  const isKnown =
    Array.isArray(value) &&
    value.every((message: Partial<ModMessage>) => {
      const { role, text, toolUses } = message;
      return (role === "user" || role === "assistant") && typeof text === "string" && Array.isArray(toolUses);
    });
  if (!isKnown) throw new FallBack("this version of Claude Code has messages of another form");
  return value as readonly ModMessage[];
}

/**
 * The state of the mod. Claude Code loads the module once for a session, and takes neither hooks nor uses of `$` from objects, so that it
 * is the module's.
 */
const state = {
  client: undefined as Promise<HostClient> | undefined,
  /** The newest row that the host has, by conversation. */
  last: new Map<string, string>(),
  /** Who caused a row, where it is neither the person nor the model. */
  origins: new Map<string, string>(),
  /** Conversations with a compaction that a hook saw and that Claude Code has not made yet. */
  seen: new Set<string>(),
  /** Messages of a conversation before a compaction by Claude Code itself; kept until a host has stored them. */
  held: new Map<string, readonly ModMessage[]>(),
  isGuardShown: false,
};

/** The client, made at the first hook that needs it. Rejects where the installation is incomplete. */
export function clientOf($: ModEngine): Promise<HostClient> {
  state.client ??= openClient($).catch((error: unknown) => {
    state.client = undefined;
    throw error;
  });
  return state.client;
}

async function openClient($: ModEngine): Promise<HostClient> {
  const place = JSON.parse(await $.fs.read(`${$.plugin.root}/place.json`)) as Place;
  const { version } = await $.session.version();
  return new HostClient({
    program: PROGRAM,
    version,
    place,
    post: (socketPath, path, body) =>
      $.http.fetch(`http://pagurus${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
        socketPath,
      }),
    sleep: (ms) => $.clock.sleep(ms),
    run: (argv) => void $.process.run(argv).catch(() => undefined),
    notice: (line) => $.ui.log(line),
  });
}

export async function conversationOf($: ModEngine, agentId: string | undefined): Promise<Conversation> {
  const [session, cwd] = await Promise.all([$.session.id(), $.session.cwd()]);
  return { session, cwd, ...(agentId === undefined ? {} : { agent: agentId }) };
}

export function noteOrigin(uuid: string, kind: string): void {
  if (kind !== "composer" && kind !== "model" && kind !== "tool") state.origins.set(uuid, kind);
}

/** A compaction begins. `messages` are kept for a host until `noteAnswered`: Claude Code lists them no more. */
export function noteCompaction(agentId: string | undefined, messages: readonly ModMessage[]): void {
  state.seen.add(agentId ?? "");
  state.last.delete(agentId ?? "");
  state.held.set(agentId ?? "", messages);
}

/** The host has taken the messages of the compaction. */
export function noteAnswered(agentId: string | undefined): void {
  state.held.delete(agentId ?? "");
}

/** Beginning of the summary with which Claude Code's own compaction begins a conversation again. */
const OWN_SUMMARY = "This session is being continued from a previous conversation";

/** The rows since Claude Code's own last compaction: it lists those before too, and those that it kept twice. */
function sinceSummary(rows: readonly ModMessage[]): readonly ModMessage[] {
  const at = rows.findLastIndex(({ role, text }) => role === "user" && text.startsWith(OWN_SUMMARY));
  return at < 0 ? rows : rows.slice(at);
}

/** Sends the rows that the host does not have. Throws `FallBack`. */
export async function sendRows($: ModEngine, agentId: string | undefined): Promise<void> {
  const name = agentId ?? "";
  const of = agentId === undefined ? {} : { agentId };
  const after = state.last.get(name);
  const since = after === undefined ? undefined : await $.session.messages({ ...of, after });
  const isFollowing = Array.isArray(since);
  const rows = checkedMessages(isFollowing ? since : await $.session.messages({ ...of, last: MOST_ROWS }));
  if (rows.length === 0) return;
  const client = await clientOf($);
  const held = state.held.get(name);
  if (held) {
    const messages = held.map(programMessage);
    await client.ask("append", await conversationOf($, agentId), { messages, isWhole: true });
    state.held.delete(name);
  }
  const messages = sinceSummary(rows).map((row) => {
    const origin = state.origins.get(row.uuid ?? "");
    return { ...programMessage(row), ...(origin === undefined ? {} : { origin }) };
  });
  await client.ask("append", await conversationOf($, agentId), { messages, isWhole: !isFollowing });
  const uuid = rows.at(-1)?.uuid;
  if (uuid !== undefined) state.last.set(name, uuid);
}

/** Claude Code has compacted. Where no hook saw a compaction, a guard of an organization skips it, and one line says so. */
export function noteBoundary($: ModEngine, agentId: string | undefined): void {
  if (state.seen.size > 0) {
    state.seen.delete(agentId ?? "");
    return;
  }
  if (state.isGuardShown) return;
  state.isGuardShown = true;
  $.ui.log(
    "Pagurus: Claude Code compacted the conversation and its compaction hook did not run. If an organization's settings skip it, `pagurus wire -- claude` gives this engine's compactions.",
  );
}
