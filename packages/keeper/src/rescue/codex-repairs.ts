/** Items of a rollout that the Responses API or Codex refuses: the rows of its table. */
import { asString, isRecord, listOf, recordOf, type Fields } from "@pagurus/core/data/record-fields";
import {
  contentText,
  megabytes,
  MOST_TEXT,
  shortText,
  tooLong,
  toolName,
  type Repair,
  type SourceLine,
} from "./rescued.ts";

/** Most items of a request, less those that a turn adds. */
const MOST_ITEMS = 16_384 - 1_024;
/** Largest image, characters of its address. */
const MOST_IMAGE = 20 * 1024 * 1024;
const IMAGE = /^(?:https?:\/\/|data:image\/(?:png|jpeg|gif|webp);base64,[\w+/])/;
const CALL = /^(?:function_call|custom_tool_call|local_shell_call)$/;

function itemOf({ value }: SourceLine): Fields | undefined {
  return value["type"] === "response_item" ? recordOf(value["payload"]) : undefined;
}

function withItem(line: SourceLine, payload: Fields): SourceLine {
  return { number: line.number, value: { ...line.value, payload } };
}

function isOutput(item: Fields): boolean {
  return asString(item["type"])?.endsWith("_output") === true;
}

function isCall(item: Fields): boolean {
  return CALL.test(asString(item["type"]) ?? "");
}

function callId(item: Fields): string {
  return asString(item["call_id"]) ?? "";
}

/** A message of the user in place of an item. */
function asMessage(line: SourceLine, text: string): SourceLine {
  return withItem(line, { type: "message", role: "user", content: [{ type: "input_text", text }] });
}

/** A row that looks at each item; `undefined` for one that is right, no line for one that is left out. */
function eachItem(
  kind: string,
  rule: (item: Fields, line: SourceLine) => { text: string; instead: SourceLine[] } | undefined,
): Repair {
  return {
    kind,
    apply: (lines, report) =>
      lines.flatMap((line) => {
        const item = itemOf(line);
        const found = item && rule(item, line);
        if (!found) return [line];
        report(line.number, found.text);
        return found.instead;
      }),
  };
}

/** A row that looks at each part of a message or of a result. */
function eachPart(
  kind: string,
  rule: (part: Fields, item: Fields) => { text: string; instead: Fields } | undefined,
): Repair {
  return {
    kind,
    apply: (lines, report) =>
      lines.map((line) => {
        const item = itemOf(line);
        const key = Array.isArray(item?.["content"]) ? "content" : "output";
        const parts = listOf(item?.[key]);
        if (!item || parts.length === 0 || item["type"] === "reasoning") return line;
        const after = parts.map((part) => {
          const found = isRecord(part) ? rule(part, item) : undefined;
          if (!found) return part;
          report(line.number, found.text);
          return found.instead;
        });
        return after.every((part, at) => part === parts[at])
          ? line
          : withItem(line, { ...item, [key]: after });
      }),
  };
}

function ids(lines: readonly SourceLine[], test: (item: Fields) => boolean): Set<string> {
  return new Set(
    lines.flatMap((line) => {
      const item = itemOf(line);
      return item && test(item) ? [callId(item)] : [];
    }),
  );
}

const poisonedCompaction: Repair = {
  kind: "poisoned summary",
  apply: (lines, report) =>
    lines.filter(({ number, value }) => {
      const { message, replacement_history: history } = recordOf(value["payload"]) as Record<string, unknown>;
      const isEmpty = !asString(message)?.trim() && listOf(history).length === 0;
      if (value["type"] !== "compacted" || !isEmpty) return true;
      report(
        number,
        "A compaction has no summary, and hides all items before it; they are there again without it.",
      );
      return false;
    }),
};

/** The newest items within the limit, from a message of the user on. Items before the last compaction are not sent and do not count. */
const tooManyItems: Repair = {
  kind: "many items",
  apply: (lines, report) => {
    const from = lines.findLastIndex(({ value }) => value["type"] === "compacted") + 1;
    const items = lines.slice(from).filter((line) => itemOf(line) !== undefined);
    if (items.length <= MOST_ITEMS) return lines;
    const least = items[items.length - MOST_ITEMS]?.number ?? 0;
    const start =
      items.find((line) => line.number >= least && itemOf(line)?.["role"] === "user")?.number ?? least;
    const left = items.filter(({ number }) => number < start).length;
    report(
      undefined,
      `It has ${items.length} items, and a request may have 16,384; the ${left} oldest are left out, and stay in the original.`,
    );
    return lines.filter((line) => line.value["type"] === "session_meta" || line.number >= start);
  },
};

const twoCalls: Repair = {
  kind: "two calls with one id",
  apply: (lines, report) => {
    const used = new Set<string>();
    const renamed = new Map<string, string>();
    return lines.map((line) => {
      const item = itemOf(line);
      if (!item) return line;
      const id = callId(item);
      if (isCall(item) && used.has(id)) {
        const own = `${id}_${used.size}`;
        renamed.set(id, own);
        used.add(own);
        report(line.number, "Two calls have one id; the second and its result have another one.");
        return withItem(line, { ...item, call_id: own });
      }
      if (isCall(item)) used.add(id);
      const own = isOutput(item) ? renamed.get(id) : undefined;
      return own === undefined ? line : withItem(line, { ...item, call_id: own });
    });
  },
};

const twoResults: Repair = {
  kind: "two results of one call",
  apply: (lines, report) => {
    const answered = new Set<string>();
    return lines.map((line) => {
      const item = itemOf(line);
      if (!item || !isOutput(item)) return line;
      if (!answered.has(callId(item))) {
        answered.add(callId(item));
        return line;
      }
      report(line.number, "A call has a second result; it is a message.");
      return asMessage(line, `[Another result of the call: ${contentText(item["output"])}]`);
    });
  },
};

const orphans: Repair = {
  kind: "result without a call",
  apply: (lines, report) => {
    const used = new Set<string>();
    return lines.map((line) => {
      const item = itemOf(line);
      if (item && isCall(item)) used.add(callId(item));
      if (!item || !isOutput(item) || used.has(callId(item))) return line;
      report(line.number, "A result belongs to no call; it is a message.");
      return asMessage(line, `[The result of a call that is missing: ${contentText(item["output"])}]`);
    });
  },
};

const unanswered: Repair = {
  kind: "call without a result",
  apply: (lines, report) => {
    const answered = ids(lines, isOutput);
    return lines.flatMap((line) => {
      const item = itemOf(line);
      if (!item || !isCall(item) || answered.has(callId(item))) return [line];
      report(line.number, "A call has no result; one that says so follows it.");
      const type = item["type"] === "custom_tool_call" ? "custom_tool_call_output" : "function_call_output";
      return [line, withItem(line, { type, call_id: callId(item), output: "The result is missing." })];
    });
  },
};

/** Each kind of damage, in the order in which it is looked for. */
export const CODEX_REPAIRS: readonly Repair[] = [
  poisonedCompaction,
  tooManyItems,
  eachItem("sealed thinking", (item) => {
    const sealed = asString(item["encrypted_content"]);
    if (item["type"] !== "reasoning" || sealed?.startsWith("gAAAA") === true) return undefined;
    return {
      text: "A thought has no sealed content that the provider can open; it is left out.",
      instead: [],
    };
  }),
  eachItem("name of a tool", (item, line) => {
    const name = asString(item["name"]) ?? "";
    const renamed = toolName(name);
    if (!/^(?:function|custom_tool)_call$/.test(asString(item["type"]) ?? "") || !renamed) return undefined;
    return { text: renamed.text, instead: [withItem(line, { ...item, name: renamed.name })] };
  }),
  eachItem("arguments of a call", (item, line) =>
    item["type"] === "function_call" && typeof item["arguments"] !== "string"
      ? {
          text: "The arguments of a call are no text, which Codex and the provider refuse; they are one.",
          instead: [withItem(line, { ...item, arguments: JSON.stringify(item["arguments"] ?? {}) })],
        }
      : undefined,
  ),
  twoCalls,
  twoResults,
  orphans,
  unanswered,
  eachPart("kind of a text", (part, item) => {
    if (item["type"] !== "message" || !/^(?:text|input_text|output_text)$/.test(asString(part["type"]) ?? ""))
      return undefined;
    const type = item["role"] === "assistant" ? "output_text" : "input_text";
    if (part["type"] === type) return undefined;
    return {
      text: `A text of the ${asString(item["role"]) ?? "user"} has the kind ${asString(part["type"]) ?? ""}, which the provider refuses; it has its own.`,
      instead: { ...part, type },
    };
  }),
  eachPart("large image", (part) => {
    const image = asString(part["image_url"]);
    if (image === undefined || image.length <= MOST_IMAGE) return undefined;
    return {
      text: `An image of ${megabytes(image.length)} is larger than the provider takes; a text names it.`,
      instead: {
        type: "input_text",
        text: `[An image (${megabytes(image.length)}) was left out: it is too large.]`,
      },
    };
  }),
  eachPart("unreadable image", (part) =>
    part["type"] === "input_image" &&
    part["file_id"] === undefined &&
    !IMAGE.test(asString(part["image_url"]) ?? "")
      ? {
          text: "An image has no data that the provider can read; a text names it.",
          instead: { type: "input_text", text: "[An image was left out: its data cannot be read.]" },
        }
      : undefined,
  ),
  eachPart("long text", (part) => {
    const text = asString(part["text"]);
    return text === undefined || text.length <= MOST_TEXT
      ? undefined
      : { text: tooLong(text), instead: { ...part, text: shortText(text, MOST_TEXT) } };
  }),
  eachItem("long result", (item, line) => {
    const output = asString(item["output"]);
    return output === undefined || output.length <= MOST_TEXT
      ? undefined
      : {
          text: tooLong(output),
          instead: [withItem(line, { ...item, output: shortText(output, MOST_TEXT) })],
        };
  }),
];
