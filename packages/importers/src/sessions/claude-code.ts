/**
 * Reader of Claude Code sessions: `~/.claude/projects/<folder>/<session>.jsonl`. Each line names its parent; an assistant message is one
 * line per part, with its tools' results in between.
 */
import type { AssistantMessage } from "@pagurus/contract/message";
import { renderNotice } from "./claude-notice.ts";
import {
  contentOf,
  isPrompt,
  isSide,
  MessageGroups,
  queuedCommand,
  promptTexts,
  Prompts,
  surveyClaude,
  titleOfRecord,
  type ClaudeSurvey,
} from "./claude-survey.ts";
import type { Draft, DraftItem } from "./draft.ts";
import { numberOf, timeOf } from "./foreign-fields.ts";
import { keepLine, usableLines, type OpenFile } from "./jsonl-source.ts";
import {
  assistantContent,
  resultMessage,
  sortParts,
  stopReasonOf,
  usageOf,
  userContent,
} from "./message-parts.ts";
import { SLICE, type ForeignSession, type Paced } from "./foreign-source.ts";
import type { Tally } from "./tally.ts";
import { asRecord, type Fields, filledString } from "@pagurus/core/data/record-fields";
import { defined } from "@pagurus/core/data/defined";

/** Line types that only the program's screen and its file undo use. */
const SCREEN_LINES = new Set([
  "progress",
  "file-history-snapshot",
  "file-history-delta",
  "last-prompt",
  "mode",
  "permission-mode",
  "agent-name",
  "agent-color",
  "agent-setting",
  "tag",
  "pr-link",
  "worktree-state",
  "bridge-session",
  "speculation-accept",
]);
const SCREEN_NOTES = new Set([
  "stop_hook_summary",
  "turn_duration",
  "away_summary",
  "bridge_status",
  "memory_saved",
]);

export function* openClaudeCode(file: OpenFile): Paced<ForeignSession> {
  const survey = yield* surveyClaude(file);
  const { sourceId, key, cwd, startedAt } = survey;
  return {
    sourceId,
    key,
    cwd,
    startedAt,
    awaits: (callId) => (survey.results.get(callId) ?? 0) > 0,
    fill: (draft, tally) => new ClaudeReader(survey, draft, tally).fill(file),
  };
}

interface Line {
  number: number;
  value: Fields;
}

interface Group {
  lines: Line[];
  lastLine: number;
}

/** A line or group that waits until the messages before it are complete. */
type Waiting = Group | Line;

class ClaudeReader {
  readonly #survey: ClaudeSurvey;
  readonly #draft: Draft;
  readonly #tally: Tally;
  readonly #groups = new MessageGroups();
  readonly #openGroups = new Map<string, Group>();
  readonly #waiting: Waiting[] = [];
  /** Key of each line's item, or of the item before it when the line has none. */
  readonly #anchors = new Map<string, string | null>();
  /** Key of the newest item of the conversation itself. */
  #latest: string | null = null;
  /** Key of the item of the conversation's last message. */
  #leaf: string | undefined;
  /** Texts in the program's queue. */
  readonly #queue: Line[] = [];
  readonly #prompts: Prompts;
  #boundary: Fields | undefined;

  constructor(survey: ClaudeSurvey, draft: Draft, tally: Tally) {
    this.#survey = survey;
    this.#prompts = new Prompts(survey.prompts);
    this.#draft = draft;
    this.#tally = tally;
  }

  *fill(file: OpenFile): Paced<void> {
    const { title } = this.#survey;
    if (title !== undefined) {
      const at = this.#survey.startedAt;
      this.#draft.add({ parent: null, at, body: { type: "session_info", name: title } });
    }
    for (const line of usableLines(file, this.#draft, this.#tally)) {
      this.#take(line);
      this.#drain();
      if (line.number % SLICE === 0) yield;
    }
    for (const group of this.#openGroups.values()) group.lastLine = 0;
    this.#drain();
    for (const line of this.#queue) this.#keepQueued(line);
    this.#draft.finish(this.#leaf);
  }

  /** Adds a line to its message, or queues it after the incomplete ones. */
  #take(line: Line): void {
    const { value, number } = line;
    const messageId =
      value["type"] === "assistant" ? filledString(asRecord(value["message"])?.["id"]) : undefined;
    if (messageId === undefined) {
      if (isPrompt(value) && value["isSidechain"] !== true) this.#groups.prompt();
      this.#waiting.push(line);
      return;
    }
    const name = this.#groups.group(messageId, number);
    const known = this.#openGroups.get(name);
    if (known) known.lines.push(line);
    else {
      const group = { lines: [line], lastLine: this.#survey.lastLineOf.get(name) ?? number };
      this.#openGroups.set(name, group);
      this.#waiting.push(group);
    }
    const group = this.#openGroups.get(name);
    if (group && group.lastLine <= number) {
      group.lastLine = 0;
      this.#openGroups.delete(name);
    }
  }

  #drain(): void {
    for (let first = this.#waiting[0]; first; first = this.#waiting[0]) {
      if ("lines" in first && first.lastLine > 0) return;
      this.#waiting.shift();
      if ("lines" in first) this.#assistant(first.lines);
      else this.#line(first);
    }
  }

  #line(line: Line): void {
    const { value } = line;
    const type = filledString(value["type"]) ?? "line without a type";
    if (type === "user") this.#user(line);
    else if (type === "assistant") this.#assistant([line]);
    else if (type === "system") this.#system(line);
    else if (type === "queue-operation") this.#queued(line);
    else if (queuedCommand(value) !== undefined) this.#command(line, queuedCommand(value) ?? "");
    else if (titleOfRecord(value) !== undefined) this.#tally.leaveOut(`${type} (the session's name)`);
    else if (SCREEN_LINES.has(type)) this.#tally.leaveOut(type);
    else this.#keep(line, type === "attachment" ? attachmentKind(value) : type);
    const uuid = filledString(value["uuid"]);
    if (uuid !== undefined && !this.#anchors.has(uuid)) this.#anchors.set(uuid, this.#parent(value));
  }

  /** Key of the parent item of a line. */
  #parent(value: Fields): string | null {
    const parent = value["parentUuid"] ?? value["logicalParentUuid"];
    if (parent === null || parent === undefined) {
      // The first line of a conversation; a line without the field follows the line before it.
      const root = "parentUuid" in value && (isSide(value, this.#survey.sideIsMain) || this.#latest === null);
      return root ? null : this.#latest;
    }
    const known = typeof parent === "string" ? this.#anchors.get(parent) : undefined;
    return known === undefined ? this.#latest : known;
  }

  #add(line: Line, item: Omit<DraftItem, "key" | "parent" | "at">): void {
    const { value, number } = line;
    const key = filledString(value["uuid"]) ?? `line ${number}`;
    this.#draft.add({ key, parent: this.#parent(value), at: timeOf(value["timestamp"]), ...item });
    this.#placed(line, key);
  }

  #placed({ value, number }: Line, key: string): void {
    const uuid = filledString(value["uuid"]);
    if (uuid !== undefined) this.#anchors.set(uuid, key);
    if (!isSide(value, this.#survey.sideIsMain)) this.#latest = key;
    if (number === this.#survey.lastLine) this.#leaf = key;
  }

  #keep(line: Line, kind: string): void {
    const { value } = line;
    keepLine(this.#draft, kind, line, { parent: this.#parent(value), at: timeOf(value["timestamp"]) });
  }

  /** True for a line that the file has twice. */
  #isRepeated({ value }: Line): boolean {
    const uuid = filledString(value["uuid"]);
    return uuid !== undefined && this.#anchors.has(uuid);
  }

  #assistant(all: Line[]): void {
    const seen = new Set<string>();
    const lines = all.filter((line) => {
      const uuid = filledString(line.value["uuid"]) ?? `line ${line.number}`;
      const again = seen.has(uuid) || this.#isRepeated(line);
      if (again) this.#tally.leaveOut("line that is there twice");
      seen.add(uuid);
      return !again;
    });
    const [first] = lines;
    const last = lines.at(-1);
    if (!first || !last) return;
    const key = filledString(first.value["uuid"]) ?? `line ${first.number}`;
    const parts = sortParts(lines.flatMap(({ value }) => contentOf(value)));
    const content = assistantContent(parts, String(first.number));
    const at = timeOf(last.value["timestamp"]);
    const message = { ...answer(lines, content), ...defined({ timestamp: at }) };
    const parent = this.#parent(first.value);
    if (content.length === 0 && message.errorMessage === undefined) this.#keep(first, "empty message");
    else this.#draft.add({ key, parent, at, body: { type: "message", message } });
    for (const line of lines) this.#placed(line, content.length === 0 ? (parent ?? key) : key);
    for (const { kind, raw } of parts.data) this.#draft.keep(kind, { raw }, { parent: key });
  }

  #user(line: Line): void {
    const { value } = line;
    for (const words of promptTexts(value)) this.#prompts.seen(words);
    const parts = sortParts(asRecord(value["message"])?.["content"], { apart: true });
    for (const { callId } of parts.results)
      this.#survey.results.set(callId, (this.#survey.results.get(callId) ?? 0) - 1);
    if (this.#isRepeated(line)) return this.#tally.leaveOut("line that is there twice");
    if (value["isCompactSummary"] === true) return this.#summary(line);
    if (value["isVisibleInTranscriptOnly"] === true) return this.#keep(line, "text that no model saw");
    const at = timeOf(value["timestamp"]);
    for (const result of parts.results) {
      const key = `${filledString(value["uuid"]) ?? `line ${line.number}`}${parts.results.length > 1 ? ` ${result.callId}` : ""}`;
      this.#draft.add({ key, at, body: { type: "message", message: resultMessage(result, at) } });
      this.#placed(line, key);
    }
    const content = userContent(parts);
    if (content.length > 0) {
      const notice = renderNotice(value, content);
      const timestamp = at === undefined ? {} : { timestamp: at };
      if (notice) this.#add(line, { body: { type: "custom_message", ...notice } });
      else this.#add(line, { body: { type: "message", message: { role: "user", content, ...timestamp } } });
    } else if (parts.results.length === 0) this.#keep(line, "empty message");
    for (const { kind, raw } of parts.data) this.#draft.keep(kind, { raw });
  }

  #system(line: Line): void {
    const { value } = line;
    const subtype = filledString(value["subtype"]) ?? "system";
    if (subtype === "compact_boundary") {
      this.#boundary = value;
      this.#tally.leaveOut("compact_boundary (its summary is taken)");
    } else if (SCREEN_NOTES.has(subtype)) this.#tally.leaveOut(subtype);
    else this.#keep(line, `system ${subtype}`);
  }

  #summary(line: Line): void {
    const boundary = this.#boundary;
    this.#boundary = undefined;
    const metadata = asRecord(boundary?.["compactMetadata"]) ?? {};
    const summary = contentOf(line.value)
      .flatMap((part) => (typeof part === "string" ? part : (filledString(asRecord(part)?.["text"]) ?? [])))
      .join("\n");
    // Newer versions keep the end of the conversation as it is and record where it begins.
    const head = filledString(asRecord(metadata["preservedSegment"])?.["headUuid"]);
    const keptKey = head === undefined ? undefined : (this.#anchors.get(head) ?? undefined);
    const tokens = numberOf(metadata["preTokens"]);
    this.#add(line, {
      body: {
        type: "compaction",
        summary,
        tokensBefore: tokens ?? Math.round(this.#draft.bytes / 4),
        origin: "model",
        lane: "harness",
        trigger: metadata["trigger"] === "manual" ? "manual" : "threshold",
        handledBy: "claude-code",
        ...defined({ keptKey }),
      },
    });
  }

  /** Input typed while the assistant worked; when it became a line of its own, that line is used. */
  #queued(line: Line): void {
    const { operation, content } = line.value;
    const words = filledString(content);
    if (operation === "enqueue" && words !== undefined) {
      if (this.#prompts.comes(words)) this.#tally.leaveOut("queue-operation (sent later)");
      else this.#queue.push(line);
      return;
    }
    this.#tally.leaveOut("queue-operation");
    if (operation !== "remove") return;
    // Moved from the queue into the running turn; nothing else in the file has this text.
    const taken = this.#queue.pop();
    if (taken) this.#steering(line, filledString(taken.value["content"]) ?? "", { inserted: true });
  }

  #steering(line: Line, words: string, how: { inserted?: boolean } = {}): void {
    const notice = renderNotice(line.value, words);
    const at = timeOf(line.value["timestamp"]);
    const timestamp = at === undefined ? {} : { timestamp: at };
    const message = { type: "message", message: { role: "user", content: words, ...timestamp } } as const;
    this.#add(line, { ...how, body: notice ? { type: "custom_message", ...notice } : message });
  }

  #command(line: Line, words: string): void {
    this.#prompts.seen(words);
    this.#steering(line, words);
  }

  #keepQueued(line: Line): void {
    keepLine(this.#draft, "queued words that were never sent", line);
  }
}

function attachmentKind(value: Fields): string {
  return `attachment ${filledString(asRecord(value["attachment"])?.["type"]) ?? ""}`.trim();
}

/** Model, usage and stop reason of an answer; of several lines the last one has them. */
function answer(lines: readonly Line[], content: AssistantMessage["content"]): AssistantMessage {
  const value = lines.at(-1)?.value ?? {};
  const message = asRecord(value["message"]) ?? {};
  const model = filledString(message["model"]);
  const failed = value["isApiErrorMessage"] === true;
  const usage = usageOf(message["usage"]);
  const text = content.flatMap((part) => (part.type === "text" ? part.text : [])).join("\n");
  // "<synthetic>" marks the program's own text in an assistant message.
  const real = model !== undefined && !model.startsWith("<");
  return {
    role: "assistant",
    content,
    ...(real ? { provider: "anthropic", model } : {}),
    ...defined({ usage }),
    stopReason: failed ? "error" : stopReasonOf(message["stop_reason"], content),
    ...(failed ? { errorMessage: text } : {}),
  };
}
