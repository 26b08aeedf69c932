/** A conversation of OpenCode from its database. */
import { rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { AssistantMessage, ImagePart, TextPart, ToolResultMessage } from "@pagurus/contract/message";
import {
  asString,
  countOf,
  isRecord,
  listOf,
  parseRecord,
  recordOf,
  type Fields,
} from "@pagurus/core/data/record-fields";
import { dataUrlImage } from "@pagurus/core/protocols/protocol-parts";
import type { Archive } from "../archive/archive.ts";
import type { OpenCodeModel } from "./write-opencode.ts";
import type { Portable, PortableItem } from "./portable.ts";

interface Message {
  id: string;
  info: Fields;
  parts: Fields[];
}

/** Undefined where the database has no such conversation. `copy`: a path where it may be written. Throws the errors of the system and of SQLite. */
export function readOpenCode(bytes: Uint8Array, session: string, copy: string): Portable | undefined {
  writeFileSync(copy, bytes, { mode: 0o600 });
  const db = new DatabaseSync(copy, { readOnly: true });
  try {
    const head = db.prepare("SELECT directory, title FROM session WHERE id = ?").get(session);
    if (!head) return undefined;
    const parts = Map.groupBy(
      db.prepare("SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id").all(session),
      (row) => String(row["message_id"]),
    );
    const messages = db
      .prepare("SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id")
      .all(session)
      .map((row): Message => {
        const id = String(row["id"]);
        return {
          id,
          info: jsonOf(row["data"]),
          parts: (parts.get(id) ?? []).map(({ data }) => jsonOf(data)),
        };
      });
    return { cwd: String(head["directory"]), title: String(head["title"]), items: itemsOf(messages) };
  } finally {
    db.close();
  }
}

/** Provider and model of the newest message that the archive has of OpenCode. `copy`: a path where its database may be written. */
export function newestModel(archive: Archive, copy: string): OpenCodeModel | undefined {
  const file = archive.files().findLast(({ agent, path }) => agent === "opencode" && path.endsWith(".db"));
  if (!file) return undefined;
  writeFileSync(copy, archive.bytes(file.id, file.version), { mode: 0o600 });
  const db = new DatabaseSync(copy, { readOnly: true });
  try {
    for (const row of db.prepare("SELECT data FROM message ORDER BY time_created DESC LIMIT 20").iterate()) {
      const model = recordOf(jsonOf(row["data"])["model"]);
      const providerID = asString(model["providerID"]);
      const modelID = asString(model["modelID"]);
      if (providerID !== undefined && modelID !== undefined) return { providerID, modelID };
    }
    return undefined;
  } finally {
    db.close();
    rmSync(copy, { force: true });
  }
}

function jsonOf(value: unknown): Fields {
  return parseRecord(asString(value) ?? "") ?? {};
}

function itemsOf(messages: readonly Message[]): PortableItem[] {
  const found: { id: string; items: PortableItem[] }[] = [];
  /** First messages that a compaction kept, by the message that asked for it. */
  const kept = new Map<string, string | undefined>();
  for (const { id, info, parts } of messages) {
    const timestamp = countOf(recordOf(info["time"])["created"]);
    const at = timestamp === undefined ? {} : { timestamp };
    const compaction = parts.find(({ type }) => type === "compaction");
    if (compaction) kept.set(id, asString(compaction["tail_start_id"]));
    else if (info["role"] === "user") found.push({ id, items: userItems(parts, at) });
    else if (info["summary"] === true) {
      const text = parts.flatMap((part) => (part["type"] === "text" ? (asString(part["text"]) ?? []) : []));
      const summary = { id, items: [{ role: "summary", text: text.join("\n"), ...at } as const] };
      const tail = kept.get(asString(info["parentID"]) ?? "");
      const place = found.findIndex((each) => each.id === tail);
      found.splice(place < 0 ? found.length : place, 0, summary);
    } else found.push({ id, items: answerItems(info, parts, at) });
  }
  return found.flatMap(({ items }) => items);
}

function userItems(parts: readonly Fields[], at: { timestamp?: number }): PortableItem[] {
  const content = parts.flatMap((part): (TextPart | ImagePart)[] => {
    if (part["type"] === "text" && part["ignored"] !== true)
      return [{ type: "text", text: asString(part["text"]) ?? "" }];
    return part["type"] === "file" ? fileParts(part) : [];
  });
  return content.length === 0 ? [] : [{ role: "user", content, ...at }];
}

/** An image, or the name of another file: its text is a part of its own. */
function fileParts(part: Fields): (TextPart | ImagePart)[] {
  const url = asString(part["url"]) ?? "";
  const mime = asString(part["mime"]) ?? "";
  const image = url.startsWith("data:") && mime.startsWith("image/") ? dataUrlImage(url) : undefined;
  if (image) return [image];
  return mime.startsWith("text/")
    ? []
    : [{ type: "text", text: `[file ${asString(part["filename"]) ?? url.slice(0, 200)}]` }];
}

function answerItems(info: Fields, parts: readonly Fields[], at: { timestamp?: number }): PortableItem[] {
  const content: AssistantMessage["content"] = [];
  const results: ToolResultMessage[] = [];
  for (const part of parts) {
    const text = asString(part["text"]) ?? "";
    if (part["type"] === "text" && text !== "") content.push({ type: "text", text });
    else if (part["type"] === "reasoning") content.push({ type: "thinking", thinking: text });
    else if (part["type"] === "tool" && isRecord(part["state"])) {
      const id = asString(part["callID"]) ?? "";
      const name = asString(part["tool"]) ?? "tool";
      const state = part["state"];
      content.push({ type: "toolCall", id, name, arguments: { ...recordOf(state["input"]) } });
      results.push({ role: "toolResult", toolCallId: id, toolName: name, ...resultOf(state), ...at });
    }
  }
  if (content.length === 0) return [];
  const provider = asString(info["providerID"]);
  const model = asString(info["modelID"]);
  const answer: AssistantMessage = {
    role: "assistant",
    content,
    ...(provider !== undefined && { provider }),
    ...(model !== undefined && { model }),
    ...at,
  };
  return [answer, ...results];
}

function resultOf(state: Fields): Pick<ToolResultMessage, "content" | "isError"> {
  const isError = state["status"] !== "completed";
  const text = asString(state[isError ? "error" : "output"]) ?? "";
  const images = listOf(state["attachments"]).filter(isRecord).flatMap(fileParts);
  return { isError, content: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...images] };
}
