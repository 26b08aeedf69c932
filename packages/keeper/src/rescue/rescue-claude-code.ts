/** A conversation of Claude Code that cannot continue, as one that can: the rules are those of the Messages API and of the program's own chain of messages. */
import { asString, isRecord, listOf, recordOf, type Fields } from "@pagurus/core/data/record-fields";
import {
  megabytes,
  readableLines,
  wellFormedLine,
  type Finding,
  type Rescued,
  type SourceLine,
} from "./rescued.ts";

/** Largest image that the Messages API takes, bytes. */
const MOST_IMAGE = 5 * 1024 * 1024;

interface Calls {
  used: Set<string>;
  answered: Set<string>;
}

/** `id`: of the new session. */
export function rescueClaudeCode(content: Buffer, id: string): Rescued {
  const findings: Finding[] = [];
  const lines = readableLines(content, findings).map((line) => wellFormedLine(line, findings));
  const calls = callsOf(lines);
  const repaired = chained(lines, findings).map((line) => repairedLine(line, calls, findings));
  return {
    lines: repaired.map(({ value }) => ("sessionId" in value ? { ...value, sessionId: id } : value)),
    findings: findings.toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0)),
  };
}

function contentOf({ value }: SourceLine): Fields[] {
  return listOf(recordOf(value["message"])["content"]).filter(isRecord);
}

function callsOf(lines: readonly SourceLine[]): Calls {
  const calls: Calls = { used: new Set(), answered: new Set() };
  for (const block of lines.flatMap(contentOf)) {
    if (block["type"] === "tool_use") calls.used.add(asString(block["id"]) ?? "");
    if (block["type"] === "tool_result") calls.answered.add(asString(block["tool_use_id"]) ?? "");
  }
  return calls;
}

/** A message whose parent is missing hangs below the message before it. */
function chained(lines: readonly SourceLine[], findings: Finding[]): SourceLine[] {
  const known = new Set(lines.flatMap(({ value }) => asString(value["uuid"]) ?? []));
  let last: string | undefined;
  return lines.map(({ number, value }) => {
    const parent = asString(value["parentUuid"]);
    const isLost = parent !== undefined && !known.has(parent);
    const before = last;
    last = asString(value["uuid"]) ?? last;
    if (!isLost) return { number, value };
    findings.push({
      line: number,
      text: "Its parent is missing, which hides all messages before it; it follows the one before it.",
    });
    return { number, value: { ...value, parentUuid: before ?? null } };
  });
}

function repairedLine(line: SourceLine, calls: Calls, findings: Finding[]): SourceLine {
  const message = line.value["message"];
  if (!isRecord(message) || !Array.isArray(message["content"])) return line;
  const report = (text: string): void => void findings.push({ line: line.number, text });
  const content = listOf(message["content"]).flatMap((block) => repairedBlock(block, calls, report));
  const isEmpty = content.length === 0;
  const kept = isEmpty ? [{ type: "text", text: "(no content)" }] : content;
  return { number: line.number, value: { ...line.value, message: { ...message, content: kept } } };
}

function repairedBlock(block: unknown, calls: Calls, report: (text: string) => void): unknown[] {
  if (!isRecord(block)) return [block];
  switch (block["type"]) {
    case "image":
    case "document":
      return [repairedImage(block, report)];
    case "thinking":
      if (asString(block["signature"])) return [block];
      report("A thinking block has no signature, which the provider refuses; it is left out.");
      return [];
    case "text":
      if (asString(block["text"])?.trim()) return [block];
      report("A text is empty, which the provider refuses; it is left out.");
      return [];
    case "tool_use":
      if (calls.answered.has(asString(block["id"]) ?? "")) return [block];
      report(`The call of ${asString(block["name"]) ?? "a tool"} has no result; it is a text.`);
      return [
        textOf(
          `[A call of ${asString(block["name"]) ?? "a tool"} whose result is missing: ${JSON.stringify(block["input"] ?? {})}]`,
        ),
      ];
    case "tool_result":
      return repairedResult(block, calls, report);
    default:
      return [block];
  }
}

function repairedResult(block: Fields, calls: Calls, report: (text: string) => void): unknown[] {
  const inner = block["content"];
  const content = Array.isArray(inner)
    ? (inner as unknown[]).flatMap((each) => repairedBlock(each, calls, report))
    : inner;
  if (calls.used.has(asString(block["tool_use_id"]) ?? "")) return [{ ...block, content }];
  report("A result belongs to no call; it is a text.");
  const text = typeof content === "string" ? content : JSON.stringify(content);
  return [textOf(`[The result of a call that is missing: ${text}]`)];
}

function repairedImage(block: Fields, report: (text: string) => void): Fields {
  const source = recordOf(block["source"]);
  const size = Math.floor(((asString(source["data"]) ?? "").length * 3) / 4);
  if (size <= MOST_IMAGE) return block;
  const type = asString(source["media_type"]) ?? "image";
  report(`An image of ${megabytes(size)} is larger than the provider takes; a text names it.`);
  return textOf(`[An image (${type}, ${megabytes(size)}) was left out: it is too large.]`);
}

function textOf(text: string): Fields {
  return { type: "text", text };
}
