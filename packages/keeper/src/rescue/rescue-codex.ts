/** A rollout of Codex that cannot continue, as one that can: the rules are those of the Responses API. */
import { asString, isRecord, listOf, recordOf, type Fields } from "@pagurus/core/data/record-fields";
import {
  megabytes,
  readableLines,
  wellFormedLine,
  type Finding,
  type Rescued,
  type SourceLine,
} from "./rescued.ts";

/** Most items of a request, less those that a turn adds. */
const MOST_ITEMS = 16_384 - 1_024;
/** Most characters of one text. */
const MOST_TEXT = 10_485_760;
/** Largest image, characters of its address. */
const MOST_IMAGE = 20 * 1024 * 1024;

/** `id`: of the new session. */
export function rescueCodex(content: Buffer, id: string): Rescued {
  const findings: Finding[] = [];
  const lines = readableLines(content, findings).map((line) => wellFormedLine(line, findings));
  const shortened = withinLimit(lines, findings);
  const paired = withPairs(shortened, findings).map((line) => repairedLine(line, findings));
  return {
    lines: paired.map(({ value }) => (value["type"] === "session_meta" ? withId(value, id) : value)),
    findings: findings.toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0)),
  };
}

function withId(line: Fields, id: string): Fields {
  return { ...line, payload: { ...recordOf(line["payload"]), id } };
}

function itemOf({ value }: SourceLine): Fields | undefined {
  return value["type"] === "response_item" ? recordOf(value["payload"]) : undefined;
}

/** The newest items within the limit, from a message of the user on. Items before the last compaction are not sent and do not count. */
function withinLimit(lines: readonly SourceLine[], findings: Finding[]): SourceLine[] {
  const from = lines.findLastIndex(({ value }) => value["type"] === "compacted") + 1;
  const items = lines.slice(from).filter((line) => itemOf(line) !== undefined);
  if (items.length <= MOST_ITEMS) return [...lines];
  const least = items[items.length - MOST_ITEMS]?.number ?? 0;
  const start =
    items.find((line) => line.number >= least && itemOf(line)?.["role"] === "user")?.number ?? least;
  const left = items.filter(({ number }) => number < start).length;
  findings.push({
    text: `It has ${items.length} items, and a request may have 16,384; the ${left} oldest are left out, and stay in the original.`,
  });
  return lines.filter((line) => line.value["type"] === "session_meta" || line.number >= start);
}

const CALL = /^(?:function_call|custom_tool_call|local_shell_call)$/;

function withPairs(lines: readonly SourceLine[], findings: Finding[]): SourceLine[] {
  const ids = (test: (type: string) => boolean): Set<string> =>
    new Set(
      lines.flatMap((line) => {
        const item = itemOf(line);
        return item && test(asString(item["type"]) ?? "") ? (asString(item["call_id"]) ?? []) : [];
      }),
    );
  const used = ids((type) => CALL.test(type));
  const answered = ids((type) => type.endsWith("_output"));
  return lines.flatMap((line) => {
    const item = itemOf(line);
    const type = asString(item?.["type"]) ?? "";
    const call = asString(item?.["call_id"]) ?? "";
    if (item && type.endsWith("_output") && !used.has(call)) {
      findings.push({ line: line.number, text: "A result belongs to no call; it is a message." });
      return [
        withItem(line, {
          type: "message",
          role: "user",
          content: [
            { type: "input_text", text: `[The result of a call that is missing: ${textOf(item["output"])}]` },
          ],
        }),
      ];
    }
    if (item && CALL.test(type) && !answered.has(call)) {
      findings.push({ line: line.number, text: "A call has no result; one that says so follows it." });
      const output = type === "custom_tool_call" ? "custom_tool_call_output" : "function_call_output";
      return [line, withItem(line, { type: output, call_id: call, output: "The result is missing." })];
    }
    return [line];
  });
}

function withItem(line: SourceLine, payload: Fields): SourceLine {
  return { number: line.number, value: { ...line.value, payload } };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function repairedLine(line: SourceLine, findings: Finding[]): SourceLine {
  const item = itemOf(line);
  if (!item) return line;
  const report = (text: string): void => void findings.push({ line: line.number, text });
  const content = item["content"];
  const repaired: Record<string, unknown> = { ...item };
  if (Array.isArray(content)) repaired["content"] = listOf(content).map((part) => repairedPart(part, report));
  if (typeof item["output"] === "string") repaired["output"] = shortened(item["output"], report);
  return withItem(line, repaired);
}

function repairedPart(part: unknown, report: (text: string) => void): unknown {
  if (!isRecord(part)) return part;
  const image = asString(part["image_url"]);
  if (image !== undefined && image.length > MOST_IMAGE) {
    report(`An image of ${megabytes(image.length)} is larger than the provider takes; a text names it.`);
    return {
      type: "input_text",
      text: `[An image (${megabytes(image.length)}) was left out: it is too large.]`,
    };
  }
  const text = asString(part["text"]);
  return text === undefined ? part : { ...part, text: shortened(text, report) };
}

function shortened(text: string, report: (text: string) => void): string {
  if (text.length <= MOST_TEXT) return text;
  report(
    `A text of ${text.length} characters is longer than the provider takes; its beginning and its end are kept.`,
  );
  const half = Math.floor(MOST_TEXT / 2) - 100;
  return `${text.slice(0, half)}\n[… ${text.length - 2 * half} characters left out …]\n${text.slice(-half)}`.toWellFormed();
}
