/**
 * Reader of sessions of pi and of hosts that use its format: a header, then entries that form a tree. Version 1 has no ids (each entry
 * follows the one before), version 2 has other names for some messages.
 */
import { hash } from "node:crypto";
import { basename } from "node:path";
import type { Draft, DraftBody, DraftItem } from "./draft.ts";
import { numberOf, timeOf } from "./foreign-fields.ts";
import { keepLine, usable, type OpenFile } from "./jsonl-source.ts";
import { readPiMessage } from "./pi-message.ts";
import { SLICE, type ForeignSession, type Paced } from "./foreign-source.ts";
import { sourceLines, type SourceLine } from "./source-lines.ts";
import type { Tally } from "./tally.ts";
import { asRecord, type Fields, filledString } from "@pagurus/core/data/record-fields";
import { defined } from "@pagurus/core/data/defined";

type Line = SourceLine & { value: Fields };

export function* openPi(file: OpenFile): Paced<ForeignSession> {
  const results = new Map<string, number>();
  let header: Fields | undefined;
  for (const { value, number } of sourceLines(file.fd, file.size)) {
    if (number % SLICE === 0) yield;
    if (!value) continue;
    if (value["type"] === "session") header ??= value;
    const message = asRecord(value["message"]);
    const callId = message?.["role"] === "toolResult" ? filledString(message["toolCallId"]) : undefined;
    if (callId !== undefined) results.set(callId, (results.get(callId) ?? 0) + 1);
  }
  const session = filledString(header?.["id"]) ?? hash("sha1", basename(file.path), "hex").slice(0, 16);
  return {
    sourceId: session,
    key: `pi:${session}`,
    cwd: filledString(header?.["cwd"]) ?? "",
    startedAt: timeOf(header?.["timestamp"]),
    awaits: (callId) => (results.get(callId) ?? 0) > 0,
    *fill(draft, tally) {
      const reader = new PiReader(draft, tally, results);
      yield* reader.read(sourceLines(file.fd, file.size));
      draft.finish(reader.end());
    },
  };
}

/** `results`: pending tool results, by call; read ones are removed. */
export class PiReader {
  readonly #draft: Draft;
  readonly #tally: Tally;
  readonly #results: Map<string, number>;
  /** Key of the parent for entries that become no item of their own. */
  readonly #anchors = new Map<string, string | null>();
  /** Hash of each entry's content, by key. */
  readonly #contents = new Map<string, string>();
  /** Keys in file order; version 1 refers to entries by their number. */
  readonly #order: (string | null)[] = [];
  #latest: string | null = null;

  constructor(draft: Draft, tally: Tally, results: Map<string, number>) {
    this.#draft = draft;
    this.#tally = tally;
    this.#results = results;
  }

  /** Maps an entry without an item of ours to `key`, the parent of its children (null: the beginning). */
  alias(id: string, key: string | null): void {
    this.#anchors.set(id, key);
  }

  *read(lines: Iterable<SourceLine>): Paced<void> {
    for (const line of usable(lines, this.#draft, this.#tally)) {
      this.#line(line);
      if (line.number % SLICE === 0) yield;
    }
  }

  /** Key of the conversation's last item: an entry of the source; absent: the last one. Null: it is empty. */
  end(leaf?: string): string | null | undefined {
    const named = leaf === undefined ? undefined : this.#anchors.get(leaf);
    return named === undefined ? (this.#latest ?? undefined) : named;
  }

  #line(line: Line): void {
    const { value, number } = line;
    const type = filledString(value["type"]) ?? "line without a type";
    if (type === "session") {
      this.#order.push(null);
      this.#tally.leaveOut("header");
      return;
    }
    const key = filledString(value["id"]) ?? `line ${number}`;
    const content = hash("sha1", line.bytes, "base64");
    if (this.#anchors.has(key)) {
      if (this.#contents.get(key) === content) this.#tally.leaveOut("entry that is there twice");
      else keepLine(this.#draft, "entry with the id of another", line);
      return;
    }
    this.#contents.set(key, content);
    const parent = this.#parent(value);
    const at = timeOf(asRecord(value["message"])?.["timestamp"]) ?? timeOf(value["timestamp"]);
    const taken = this.#entry(line, type, { key, parent, at });
    this.#anchors.set(key, taken ? key : parent);
    this.#order.push(taken ? key : parent);
    this.#latest = taken ? key : parent;
  }

  #parent(value: Fields): string | null {
    const parent = value["parentId"];
    if (parent === null) return null;
    const known = typeof parent === "string" ? this.#anchors.get(parent) : undefined;
    return known === undefined ? this.#latest : known;
  }

  /** True when the entry became one of ours that others can follow. */
  #entry(line: Line, type: string, where: Omit<DraftItem, "body">): boolean {
    const { value } = line;
    const add = (body: DraftBody): boolean => {
      this.#draft.add({ ...where, body });
      return true;
    };
    switch (type) {
      case "message":
        return this.#message(line, where);
      case "compaction":
        return add(this.#compaction(value));
      case "branch_summary":
        return add({
          type: "custom_message",
          customType: "pi.branch_summary",
          content: filledString(value["summary"]) ?? "",
        });
      case "custom_message": {
        const message = { role: "custom", ...value };
        return this.#message({ ...line, value: { ...value, message } }, where);
      }
      case "custom":
        return add({
          type: "custom",
          customType: filledString(value["customType"]) ?? "pi.custom",
          data: value["data"],
        });
      case "session_info": {
        const name = filledString(value["name"]);
        return add({ type: "session_info", ...defined({ name }) });
      }
      case "model_change": {
        const provider = filledString(value["provider"]);
        const modelId = filledString(value["modelId"]);
        if (provider !== undefined && modelId !== undefined)
          return add({ type: "model_change", provider, modelId });
        keepLine(this.#draft, type, line, where);
        return true;
      }
      default:
        keepLine(this.#draft, type, line, where);
        return true;
    }
  }

  #compaction(value: Fields): DraftBody {
    const index = numberOf(value["firstKeptEntryIndex"]);
    const kept =
      index === undefined ? filledString(value["firstKeptEntryId"]) : (this.#order[index] ?? undefined);
    const keptKey = kept === undefined ? undefined : (this.#anchors.get(kept) ?? undefined);
    return {
      type: "compaction",
      summary: filledString(value["summary"]) ?? "",
      tokensBefore: numberOf(value["tokensBefore"]) ?? 0,
      origin: value["fromHook"] === true ? "hook" : "model",
      handledBy: "pi",
      ...defined({ keptKey, details: value["details"] }),
    };
  }

  #message(line: Line, where: Omit<DraftItem, "body">): boolean {
    const message = asRecord(line.value["message"]);
    const read = message && readPiMessage(message, where.key ?? "", where.at);
    if (!read) {
      keepLine(
        this.#draft,
        message ? `message of ${filledString(message["role"]) ?? "nobody"}` : "message",
        line,
        where,
      );
      return true;
    }
    const { body, data } = read;
    if (body.type === "message" && body.message.role === "toolResult") {
      const { toolCallId } = body.message;
      this.#results.set(toolCallId, (this.#results.get(toolCallId) ?? 0) - 1);
    }
    this.#draft.add({ ...where, body });
    for (const { kind, raw } of data) this.#draft.keep(kind, { raw }, { parent: where.key });
    return true;
  }
}
