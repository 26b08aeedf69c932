/** Calls and results that are no pairs: rows of the table in rescue-claude-code.ts. */
import { asString, isRecord, type Fields } from "@pagurus/core/data/record-fields";
import { blocksOf, messageOf, textBlock, withContent } from "./claude-blocks.ts";
import { contentText, type Repair, type SourceLine } from "./rescued.ts";

/** Changes the blocks of all lines in their order. */
function changed(
  lines: readonly SourceLine[],
  change: (block: Fields, line: SourceLine) => Fields,
): SourceLine[] {
  return lines.map((line) => {
    const content = messageOf(line)?.["content"];
    if (!Array.isArray(content)) return line;
    const before = content as unknown[];
    const after = before.map((block) => (isRecord(block) ? change(block, line) : block));
    return after.every((block, at) => block === before[at]) ? line : withContent(line, after);
  });
}

function callOf(block: Fields): string | undefined {
  return block["type"] === "tool_use" ? (asString(block["id"]) ?? "") : undefined;
}

function resultOf(block: Fields): string | undefined {
  return block["type"] === "tool_result" ? (asString(block["tool_use_id"]) ?? "") : undefined;
}

export const PAIR_REPAIRS: readonly Repair[] = [
  {
    kind: "two calls with one id",
    apply: (lines, report) => {
      const used = new Set<string>();
      const renamed = new Map<string, string>();
      return changed(lines, (block, line) => {
        const call = callOf(block);
        if (call !== undefined) {
          if (!used.has(call)) {
            used.add(call);
            return block;
          }
          const id = `${call}_${used.size}`;
          used.add(id);
          renamed.set(call, id);
          report(line.number, "Two calls have one id; the second and its result have another one.");
          return { ...block, id };
        }
        const id = renamed.get(resultOf(block) ?? "");
        return id === undefined ? block : { ...block, tool_use_id: id };
      });
    },
  },
  {
    kind: "two results of one call",
    apply: (lines, report) => {
      const answered = new Set<string>();
      return changed(lines, (block, line) => {
        const call = resultOf(block);
        if (call === undefined || !answered.has(call)) {
          if (call !== undefined) answered.add(call);
          return block;
        }
        report(line.number, "A call has a second result; it is a text.");
        return textBlock(`[Another result of the call: ${contentText(block["content"])}]`);
      });
    },
  },
  {
    kind: "result before its call",
    apply: (lines, report) => {
      const all = new Set(lines.flatMap(blocksOf).flatMap((block) => callOf(block) ?? []));
      const used = new Set<string>();
      return changed(lines, (block, line) => {
        const [call, result] = [callOf(block), resultOf(block)];
        if (call !== undefined) used.add(call);
        if (result === undefined || used.has(result) || !all.has(result)) return block;
        report(line.number, "A result comes before its call; it is a text.");
        return textBlock(`[The result of a call that follows: ${contentText(block["content"])}]`);
      });
    },
  },
  {
    kind: "result without a call",
    apply: (lines, report) => {
      const all = new Set(lines.flatMap(blocksOf).flatMap((block) => callOf(block) ?? []));
      return changed(lines, (block, line) => {
        const result = resultOf(block);
        if (result === undefined || all.has(result)) return block;
        report(line.number, "A result belongs to no call; it is a text.");
        return textBlock(`[The result of a call that is missing: ${contentText(block["content"])}]`);
      });
    },
  },
  {
    kind: "call without a result",
    apply: (lines, report) => {
      const answered = new Set(lines.flatMap(blocksOf).flatMap((block) => resultOf(block) ?? []));
      return changed(lines, (block, line) => {
        const call = callOf(block);
        if (call === undefined || answered.has(call)) return block;
        const name = asString(block["name"]) ?? "a tool";
        report(line.number, `The call of ${name} has no result; it is a text.`);
        return textBlock(
          `[A call of ${name} whose result is missing: ${JSON.stringify(block["input"] ?? {})}]`,
        );
      });
    },
  },
];
