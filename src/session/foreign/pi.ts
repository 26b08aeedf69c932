/**
 * Sessions of pi and of hosts that keep its format: a header, then entries that form a tree. Version 1 has no ids (each
 * entry follows the one before), version 2 calls some messages otherwise.
 */
import { hash } from "node:crypto";
import { basename } from "node:path";
import type { Draft, DraftBody, DraftItem } from "./draft.ts";
import { fieldsOf, numberOf, textOf, timeOf, type Fields } from "./fields.ts";
import { keepLine, usable, type OpenFile } from "./jsonl-source.ts";
import { readPiMessage } from "./pi-message.ts";
import { SLICE, type ForeignSession, type Paced } from "./source.ts";
import { sourceLines, type SourceLine } from "./source-lines.ts";
import type { Tally } from "./tally.ts";

type Line = SourceLine & { value: Fields };

export function* openPi(file: OpenFile): Paced<ForeignSession> {
  const results = new Map<string, number>();
  let header: Fields | undefined;
  for (const { value, number } of sourceLines(file.fd, file.size)) {
    if (number % SLICE === 0) yield;
    if (!value) continue;
    if (value["type"] === "session") header ??= value;
    const message = fieldsOf(value["message"]);
    const callId = message?.["role"] === "toolResult" ? textOf(message["toolCallId"]) : undefined;
    if (callId !== undefined) results.set(callId, (results.get(callId) ?? 0) + 1);
  }
  const session = textOf(header?.["id"]) ?? hash("sha1", basename(file.path), "hex").slice(0, 16);
  return {
    sourceId: session,
    key: `pi:${session}`,
    cwd: textOf(header?.["cwd"]) ?? "",
    startedAt: timeOf(header?.["timestamp"]),
    awaits: (callId) => (results.get(callId) ?? 0) > 0,
    *fill(draft, tally) {
      const reader = new PiReader(draft, tally, results);
      yield* reader.read(sourceLines(file.fd, file.size));
      draft.finish(reader.end());
    },
  };
}

/** `results`: answers of tools that are still to come, by call; those that are read are taken off. */
export class PiReader {
  readonly #draft: Draft;
  readonly #tally: Tally;
  readonly #results: Map<string, number>;
  /** Keys of the entries that make no item of their own: that of what they follow. */
  readonly #anchors = new Map<string, string | null>();
  /** What the entry of a key says, hashed. */
  readonly #said = new Map<string, string>();
  /** Keys in the order of the file; version 1 refers to entries by their number. */
  readonly #order: (string | null)[] = [];
  #latest: string | null = null;

  constructor(draft: Draft, tally: Tally, results: Map<string, number>) {
    this.#draft = draft;
    this.#tally = tally;
    this.#results = results;
  }

  /** An entry without an own item of ours is one that its followers look through to `key` (null: the beginning). */
  standIn(id: string, key: string | null): void {
    this.#anchors.set(id, key);
  }

  *read(lines: Iterable<SourceLine>): Paced<void> {
    for (const line of usable(lines, this.#draft, this.#tally)) {
      this.#line(line);
      if (line.number % SLICE === 0) yield;
    }
  }

  /** Key of what the conversation ends at: an entry of the source; absent: the last one. Null: it is empty. */
  end(leaf?: string): string | null | undefined {
    const named = leaf === undefined ? undefined : this.#anchors.get(leaf);
    return named === undefined ? (this.#latest ?? undefined) : named;
  }

  #line(line: Line): void {
    const { value, number } = line;
    const type = textOf(value["type"]) ?? "line without a type";
    if (type === "session") {
      this.#order.push(null);
      this.#tally.leaveOut("header");
      return;
    }
    const key = textOf(value["id"]) ?? `line ${number}`;
    const said = hash("sha1", line.bytes, "base64");
    if (this.#anchors.has(key)) {
      if (this.#said.get(key) === said) this.#tally.leaveOut("entry that is there twice");
      else keepLine(this.#draft, "entry with the id of another", line);
      return;
    }
    this.#said.set(key, said);
    const parent = this.#parent(value);
    const at = timeOf(fieldsOf(value["message"])?.["timestamp"]) ?? timeOf(value["timestamp"]);
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
          content: textOf(value["summary"]) ?? "",
        });
      case "custom_message": {
        const message = { role: "custom", ...value };
        return this.#message({ ...line, value: { ...value, message } }, where);
      }
      case "custom":
        return add({
          type: "custom",
          customType: textOf(value["customType"]) ?? "pi.custom",
          data: value["data"],
        });
      case "session_info": {
        const name = textOf(value["name"]);
        return add({ type: "session_info", ...(name === undefined ? {} : { name }) });
      }
      case "model_change": {
        const provider = textOf(value["provider"]);
        const modelId = textOf(value["modelId"]);
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
    const kept = index === undefined ? textOf(value["firstKeptEntryId"]) : (this.#order[index] ?? undefined);
    const keptKey = kept === undefined ? undefined : (this.#anchors.get(kept) ?? undefined);
    return {
      type: "compaction",
      summary: textOf(value["summary"]) ?? "",
      tokensBefore: numberOf(value["tokensBefore"]) ?? 0,
      origin: value["fromHook"] === true ? "hook" : "model",
      handledBy: "pi",
      ...(keptKey === undefined ? {} : { keptKey }),
      ...(value["details"] === undefined ? {} : { details: value["details"] }),
    };
  }

  #message(line: Line, where: Omit<DraftItem, "body">): boolean {
    const message = fieldsOf(line.value["message"]);
    const read = message && readPiMessage(message, where.key ?? "", where.at);
    if (!read) {
      keepLine(
        this.#draft,
        message ? `message of ${textOf(message["role"]) ?? "nobody"}` : "message",
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
