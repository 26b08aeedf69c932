/** A request's members as values; nothing is taken for granted. */
import type { ThinkingLevel } from "../../../../model/types.ts";
import type { WireRequest } from "../../dialect/dialect.ts";
import { listOf, textOf } from "../../json/fields.ts";
import { objectMembers, parsePart, wholeValue } from "../../json/scan.ts";

/** The words of a content that is a text or a list of parts. */
export function wordsOf(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((part) => textOf(part["text"]))
    .filter(Boolean)
    .join("\n\n");
}

/** Gives members by name, each parsed when it is asked for. Throws `JsonScanError`. */
export function membersOf({ body }: WireRequest): (name: string) => unknown {
  const members = objectMembers(body, wholeValue(body));
  return (name) => {
    const span = members.get(name);
    return span ? parsePart(body, span) : undefined;
  };
}

const LEVELS: Readonly<Record<string, ThinkingLevel>> = {
  none: "off",
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
  max: "high",
};

/** The level that an effort's name comes to; undefined for the model's own. */
export function levelOf(effort: unknown): ThinkingLevel | undefined {
  return Object.hasOwn(LEVELS, textOf(effort)) ? LEVELS[textOf(effort)] : undefined;
}

/** The first that is a positive number. */
export function limitOf(...values: readonly unknown[]): number | undefined {
  return values.find((value): value is number => typeof value === "number" && value > 0);
}
