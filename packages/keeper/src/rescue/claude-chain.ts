/** Messages and the chain between them, which Claude Code follows from the last one back: rows of the table in rescue-claude-code.ts. */
import { hash } from "node:crypto";
import { asString, isRecord, listOf, recordOf } from "@pagurus/core/data/record-fields";
import { blocksOf, messageOf, textBlock, withContent } from "./claude-blocks.ts";
import type { Repair, SourceLine } from "./rescued.ts";

function isMessage({ value }: SourceLine): boolean {
  return value["type"] === "user" || value["type"] === "assistant";
}

function uuidOf({ value }: SourceLine): string | undefined {
  return asString(value["uuid"]);
}

function withFields({ number, value }: SourceLine, fields: object): SourceLine {
  return { number, value: { ...value, ...fields } };
}

const PARENT = "it follows the one before it.";

export const CHAIN_REPAIRS: readonly Repair[] = [
  {
    kind: "line without a message",
    apply: (lines, report) =>
      lines.map((line) => {
        if (!isMessage(line)) return line;
        const { type } = line.value;
        const message = messageOf(line) ?? {};
        const { role, content } = message as Record<string, unknown>;
        const isRole = role === type;
        const isContent =
          (typeof content === "string" && content.trim() !== "") || listOf(content).length > 0;
        if (isRole && isContent) return line;
        if (!isRole)
          report(
            line.number,
            `A message of the ${String(type)} has the role ${JSON.stringify(role ?? null)}; it has its own.`,
          );
        if (!isContent)
          report(line.number, "A message has no content, which the provider refuses; a text says so.");
        const words = isContent ? content : isRecord(content) ? [content] : [textBlock("(no content)")];
        return withFields(line, { message: { ...message, role: type, content: words } });
      }),
  },
  {
    kind: "two lines with one id",
    apply: (lines, report) => {
      const seen = new Set<string>();
      const newest = new Map<string, string>();
      return lines.map((line) => {
        const uuid = uuidOf(line);
        const parent = newest.get(asString(line.value["parentUuid"]) ?? "");
        const below = parent === undefined ? line : withFields(line, { parentUuid: parent });
        if (uuid === undefined || !seen.has(uuid)) {
          if (uuid !== undefined) seen.add(uuid);
          return below;
        }
        const digest = hash("sha1", `${uuid} ${line.number}`, "hex");
        const own = `${digest.slice(0, 8)}-${digest.slice(8, 12)}-4${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
        const first = newest.get(uuid) ?? uuid;
        newest.set(uuid, own);
        report(
          line.number,
          "Two lines have one id, which hides the second; it has another one and follows the first.",
        );
        return withFields(below, { uuid: own, parentUuid: first });
      });
    },
  },
  {
    kind: "poisoned summary",
    apply: (lines, report) => {
      const poisoned = lines.filter(isPoisoned);
      if (poisoned.length === 0) return lines;
      const gone = new Map<string, string | null>();
      for (const line of poisoned) {
        const boundary = lines.find((each) => uuidOf(each) === line.value["parentUuid"]);
        const parent =
          asString(boundary?.value["logicalParentUuid"] ?? boundary?.value["parentUuid"]) ?? null;
        report(
          line.number,
          "The summary of a compaction is empty or an error, and hides all messages before it; they are there again without it.",
        );
        for (const each of [line, boundary]) if (each) gone.set(uuidOf(each) ?? "", parent);
      }
      return lines.flatMap((line) => {
        if (gone.has(uuidOf(line) ?? "")) return [];
        const parent = gone.get(asString(line.value["parentUuid"]) ?? "");
        return [parent === undefined ? line : withFields(line, { parentUuid: parent })];
      });
    },
  },
  {
    kind: "missing parent",
    apply: (lines, report) => {
      const known = new Set(lines.flatMap((line) => uuidOf(line) ?? []));
      let last: string | undefined;
      return lines.map((line) => {
        const parent = asString(line.value["parentUuid"]);
        const before = last;
        last = uuidOf(line) ?? last;
        if (parent === undefined || known.has(parent)) return line;
        report(line.number, `Its parent is missing, which hides all messages before it; ${PARENT}`);
        return withFields(line, { parentUuid: before ?? null });
      });
    },
  },
  {
    kind: "circle of parents",
    apply: (lines, report) => {
      const parents = new Map(lines.map((line) => [uuidOf(line), asString(line.value["parentUuid"])]));
      const earlier = new Set<string>();
      let last: string | undefined;
      return lines.map((line) => {
        const uuid = uuidOf(line);
        const before = last;
        if (uuid !== undefined) last = uuid;
        const isEarlier = earlier.has(parents.get(uuid) ?? "");
        if (uuid !== undefined) earlier.add(uuid);
        if (uuid === undefined || isEarlier || !isCircle(parents, uuid)) return line;
        report(line.number, `It is below itself, a circle in which no message is the first; ${PARENT}`);
        parents.set(uuid, before);
        return withFields(line, { parentUuid: before ?? null });
      });
    },
  },
];

function isCircle(parents: ReadonlyMap<string | undefined, string | undefined>, uuid: string): boolean {
  const seen = new Set<string>();
  for (let at = parents.get(uuid); at !== undefined && !seen.has(at); at = parents.get(at)) {
    if (at === uuid) return true;
    seen.add(at);
  }
  return false;
}

/** A failure that took the place of a summary is short. */
const MOST_FAILURE = 600;
const FAILURE = /API Error|prompt is too long|conversation too long|invalid_request_error|overloaded_error/i;

function isPoisoned(line: SourceLine): boolean {
  if (line.value["isCompactSummary"] !== true) return false;
  const content = messageOf(line)?.["content"];
  const texts =
    typeof content === "string" ? [content] : blocksOf(line).map(({ text }) => asString(text) ?? "");
  const text = texts.join("\n").trim();
  return text === "" || text === "(no content)" || (text.length < MOST_FAILURE && FAILURE.test(text));
}

/** After all others: what they left out may have been all of a message. */
export const REST_REPAIRS: readonly Repair[] = [
  {
    kind: "answer that is only thinking",
    apply: (lines, report) => {
      const last = new Map<string, SourceLine>();
      for (const line of lines)
        if (line.value["type"] === "assistant")
          last.set(asString(messageOf(line)?.["id"]) ?? `${line.number}`, line);
      const ends = new Set(last.values());
      return lines.map((line) => {
        const blocks = blocksOf(line);
        if (!ends.has(line) || asString(blocks.at(-1)?.["type"])?.endsWith("thinking") !== true) return line;
        report(line.number, "An answer ends with thinking, which the provider refuses; a text follows it.");
        return withContent(line, [
          ...listOf(recordOf(line.value["message"])["content"]),
          textBlock("(no content)"),
        ]);
      });
    },
  },
  {
    kind: "empty message",
    apply: (lines) =>
      lines.map((line) => {
        const content = messageOf(line)?.["content"];
        return Array.isArray(content) && content.length === 0
          ? withContent(line, [textBlock("(no content)")])
          : line;
      }),
  },
];
