/** A conversation as a session of pi: entries of a tree, of which each follows the one before. */
import { hash } from "node:crypto";
import { toolName } from "@pagurus/core/protocols/protocol-parts";
import {
  answerParts,
  callId,
  inputParts,
  thoughtsOf,
  Times,
  type NativeIds,
  type NativeSession,
  type Portable,
  type PortableItem,
} from "./portable.ts";

const NO_COST = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

export function writePi({ agent, cwd, title, items }: Portable, { id, now }: NativeIds): NativeSession {
  const times = new Times(now, items);
  const timestamp = new Date(now).toISOString();
  const lines: object[] = [{ type: "session", version: 3, id, timestamp, cwd }];
  let parentId: string | null = null;
  const add = (entry: (id: string) => object, time: number): void => {
    const own = hash("sha1", `${id} ${lines.length}`, "hex").slice(0, 8);
    const { type, ...rest } = entry(own) as { type: string };
    lines.push({ type, id: own, parentId, timestamp: new Date(time).toISOString(), ...rest });
    parentId = own;
  };
  for (const item of items) {
    const time = times.next(item);
    // Nothing before the summary is kept verbatim.
    if (item.role === "summary")
      add(
        (own) => ({ type: "compaction", summary: item.text, firstKeptEntryId: own, tokensBefore: 0 }),
        time,
      );
    else
      for (const message of messagesOf(item, time, agent === "pi"))
        add(() => ({ type: "message", message }), time);
  }
  if (title !== undefined) add(() => ({ type: "session_info", name: title }), now);
  const name = `${timestamp.replaceAll(/[:.]/g, "-")}_${id}.jsonl`;
  return {
    id,
    place: `sessions/--${cwd.replace(/^[/\\]/, "").replaceAll(/[/\\:]/g, "-")}--/${name}`,
    name,
    content: lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
    thoughts: thoughtsOf(items),
  };
}

function messagesOf(
  item: Exclude<PortableItem, { role: "summary" }>,
  timestamp: number,
  isOfPi: boolean,
): object[] {
  if (item.role === "user") {
    const content = inputParts(item.content).map(({ ...part }) =>
      part.type === "text" ? { type: "text", text: part.text } : part,
    );
    return content.length === 0 ? [] : [{ role: "user", content, timestamp }];
  }
  if (item.role === "toolResult") {
    const { toolCallId, toolName: name, content, isError } = item;
    const ids = { toolCallId: callId(toolCallId), toolName: toolName(name) };
    return [{ role: "toolResult", ...ids, content, isError, timestamp }];
  }
  const content = answerParts(item).map((part) =>
    part.type === "text"
      ? { type: "text", text: part.text }
      : { type: "toolCall", id: callId(part.id), name: toolName(part.name), arguments: part.arguments },
  );
  if (content.length === 0) return [];
  const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0, totalTokens = 0 } = item.usage ?? {};
  return [
    {
      role: "assistant",
      content,
      api: "anthropic-messages",
      // pi continues with the provider of the last answer; of another program it may be one that the user has no account for here.
      provider: (isOfPi ? item.provider : undefined) ?? "kept",
      model: item.model ?? "unknown",
      usage: { input, output, cacheRead, cacheWrite, totalTokens, cost: NO_COST },
      stopReason: content.some(({ type }) => type === "toolCall") ? "toolUse" : "stop",
      timestamp,
    },
  ];
}
