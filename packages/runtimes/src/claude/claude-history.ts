/**
 * Converts our messages to those of the Messages API, with their true roles, and to the lines of a session file that Claude
 * Code resumes. Deterministic except for ids. Source: the design, seam `thread`; facts of other runtimes, section 1.
 */
import { hash, randomUUID } from "node:crypto";
import type { AgentMessage, AssistantMessage, ToolResultMessage } from "@pagurus/contract/message";
import { callIds } from "@pagurus/core/compaction/message-text";
import {
  type Block,
  callBlock,
  contentBlocks,
  isResult,
  resultBlock,
  thinkingBlock,
} from "@pagurus/core/protocols/messages/messages-blocks";
import { toolName } from "@pagurus/core/protocols/protocol-parts";
import { CLAUDE_VERSION } from "./claude-version.ts";

export interface NativeMessage {
  role: "user" | "assistant";
  content: Block[];
}

/** Name under which the host's tools are configured; Claude Code prefixes them with it. */
export const SERVER = "pagurus";
const PREFIX = `mcp__${SERVER}__`;

/** The host's name for a native tool name. */
export function hostToolName(name: string): string {
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name;
}

export interface Speaker {
  /** Tools of the host in the session. */
  hostTools: ReadonlySet<string>;
  provider: string;
  modelId: string;
}

/**
 * Valid, unique API ids for calls. Claude Code takes an id with a number appended (`call_0_2` next to `call_0`) for a copy of
 * that call, and loses the result.
 */
class CallIds {
  readonly #native = new Map<string, string>();

  constructor(messages: readonly AgentMessage[]) {
    const calls = new Set(messages.flatMap(callIds));
    const taken = new Set<string>();
    for (const id of calls) {
      const plain = id.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
      const isOwn = !taken.has(plain) && (plain === id || !calls.has(plain)) && !isCopy(plain, calls);
      const native = isOwn ? plain : `call_${hash("sha256", id).slice(0, 24)}`;
      taken.add(native);
      this.#native.set(id, native);
    }
  }

  of(id: string): string {
    return this.#native.get(id) ?? id;
  }
}

function isCopy(id: string, calls: ReadonlySet<string>): boolean {
  const base = id.replace(/_\d+$/, "");
  return base !== id && (calls.has(base) || isCopy(base, calls));
}

function resultOf(message: ToolResultMessage, ids: CallIds): Block {
  const block = resultBlock(message, ids.of(message.toolCallId));
  return "content" in block ? block : { ...block, content: [] };
}

/** Thinking is sent only to the model that signed it. */
function assistantBlocks(message: AssistantMessage, speaker: Speaker, ids: CallIds): Block[] {
  const own = message.provider === speaker.provider && message.model === speaker.modelId;
  const blocks = message.content.flatMap((part): Block[] => {
    if (part.type === "text") return contentBlocks([part]);
    if (part.type === "toolCall") {
      const name = speaker.hostTools.has(part.name) ? `${PREFIX}${part.name}` : part.name;
      return [callBlock(ids.of(part.id), toolName(name), part.arguments)];
    }
    return own && part.signature !== undefined ? [thinkingBlock(part)] : [];
  });
  return blocks.some(({ type }) => !type.endsWith("thinking")) ? blocks : [];
}

/**
 * One message for each change of role; results come first, as the API requires. `context`: the whole conversation, when
 * `messages` are only the part that a session lacks.
 */
export function toNative(
  messages: readonly AgentMessage[],
  speaker: Speaker,
  context: readonly AgentMessage[] = messages,
): NativeMessage[] {
  const native: NativeMessage[] = [];
  const ids = new CallIds(context);
  for (const message of messages) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const blocks =
      message.role === "assistant"
        ? assistantBlocks(message, speaker, ids)
        : message.role === "user"
          ? contentBlocks(message.content)
          : [resultOf(message, ids)];
    if (blocks.length === 0) continue;
    const last = native.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else native.push({ role, content: blocks });
  }
  return native.map(({ role, content }) => ({
    role,
    content: content.toSorted((a, b) => Number(isResult(b)) - Number(isResult(a))),
  }));
}

export interface Parted {
  /** Content of the session file. */
  head: NativeMessage[];
  /** Input of the program that resumes it. */
  input: Block[];
  /** The file ends with tool results, from which the model continues. */
  continues: boolean;
}

/**
 * Splits the history into file and input: Claude Code answers its input, and appends text of its own to a file that ends with
 * a user message.
 */
export function parted(native: readonly NativeMessage[]): Parted {
  const last = native.at(-1);
  if (last?.role !== "user") return { head: [...native], input: [], continues: false };
  const results = last.content.filter(isResult);
  const input = last.content.filter((block) => !isResult(block));
  const before = native.slice(0, -1);
  if (results.length === 0) return { head: before, input, continues: false };
  return { head: [...before, { role: "user", content: results }], input, continues: true };
}

interface Entry {
  sessionId: string;
  cwd: string;
  modelId: string;
  /** Id of the preceding line; null at the start of a file. */
  parent: string | null;
}

/** Lines of a session file, each with its newline. */
export function sessionLines(messages: readonly NativeMessage[], entry: Entry): string {
  const { sessionId, cwd, modelId } = entry;
  let parentUuid = entry.parent;
  const timestamp = new Date().toISOString();
  return messages
    .map(({ role, content }) => {
      const uuid = randomUUID();
      const message = role === "user" ? { role, content } : assistantMessage(content, modelId, uuid);
      const line = {
        parentUuid,
        isSidechain: false,
        userType: "external",
        cwd,
        sessionId,
        version: CLAUDE_VERSION,
        type: role,
        message,
        uuid,
        timestamp,
      };
      parentUuid = uuid;
      return `${JSON.stringify(line)}\n`;
    })
    .join("");
}

function assistantMessage(content: readonly Block[], model: string, uuid: string): object {
  const calls = content.some(({ type }) => type === "tool_use");
  return {
    id: `msg_${uuid.replaceAll("-", "")}`,
    type: "message",
    role: "assistant",
    model,
    content,
    stop_reason: calls ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 0, output_tokens: 0 },
  };
}
