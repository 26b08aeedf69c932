/** A minimal dialect, for splicing tests that do not depend on the dialect: `[["u","words"],["c","id"],…]`. */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { Dialect, WireItem, WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import {
  arrayElements,
  objectMembers,
  parsePart,
  wholeValue,
} from "../../../packages/gateway/src/json/scan.ts";

export type Element = [kind: string, ...values: string[]];

/**
 * `u` user, `U` user whose element has surroundings too, `a` assistant, `c` call, `r` result, `m` mute (thinking), `x` sealed by the
 * gateway, `s` setting, `p` passing setting.
 */
function decode([kind, one = "", two = ""]: Element): AgentMessage[] {
  switch (kind) {
    case "u":
    case "U":
      return [{ role: "user", content: [{ type: "text", text: one }] }];
    case "a":
      return [{ role: "assistant", content: [{ type: "text", text: one }] }];
    case "c":
      return [{ role: "assistant", content: [{ type: "toolCall", id: one, name: "t", arguments: {} }] }];
    case "r":
      return [
        {
          role: "toolResult",
          toolCallId: one,
          toolName: "t",
          content: [{ type: "text", text: two }],
          isError: false,
        },
      ];
    default:
      return [];
  }
}

export function elementsOf(message: AgentMessage): Element[] {
  if (message.role === "toolResult") {
    const [part] = message.content;
    return [["r", message.toolCallId, part?.type === "text" ? part.text : ""]];
  }
  const parts =
    typeof message.content === "string"
      ? [{ type: "text" as const, text: message.content }]
      : message.content;
  return parts.flatMap((part): Element[] =>
    part.type === "text"
      ? [[message.role === "user" ? "u" : "a", part.text]]
      : part.type === "toolCall"
        ? [["c", part.id]]
        : [],
  );
}

export function bodyOf(elements: readonly Element[]): Buffer {
  const list = elements.map((element) => JSON.stringify(element)).join(" ,\n ");
  return Buffer.from(`{"model":"toy", "list" : [ ${list} ], "end":true}`);
}

/** `prefix`: number of leading elements; `live`: where the live turn begins. */
export function readToy(body: Buffer, prefixCount: number, liveFrom: number): WireRequest {
  const list = objectMembers(body, wholeValue(body)).get("list") ?? { start: 0, end: 0 };
  const items = arrayElements(body, list).map((span): WireItem => {
    const element = parsePart(body, span) as Element;
    const isSetting = "spx".includes(element[0]);
    return {
      ...span,
      kind: isSetting ? "setting" : "message",
      ...(element[0] === "p" ? { isPassing: true } : {}),
      ...(element[0] === "x" ? { replacement: Buffer.from(`["s","opened ${element[1]}"]`) } : {}),
      ...(element[0] === "U" ? { surroundings: Buffer.from(`["s","around ${element[1]}"]`) } : {}),
      messages: decode(element),
    };
  });
  return {
    api: "openai-completions",
    kind: "main",
    body,
    model: "toy",
    stream: true,
    list,
    items,
    prefixCount,
    liveFrom,
    native: {},
  };
}

export const toyDialect: Pick<Dialect, "encode"> = {
  encode: (messages, addition) =>
    Buffer.from(
      [...(addition === undefined ? [] : [["+", addition] as Element]), ...messages.flatMap(elementsOf)]
        .map((element) => JSON.stringify(element))
        .join(","),
    ),
};

/** The list of a body, as elements. */
export function listOf(body: readonly Buffer[]): Element[] {
  return (JSON.parse(Buffer.concat(body).toString()) as { list: Element[] }).list;
}
