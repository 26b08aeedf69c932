/** Access to a request's members as values, without assumptions about their types. */
import { recordsOf, stringOf } from "@pagurus/core/data/record-fields";
import type { ThinkingLevel } from "@pagurus/core/model/provider-types";
import type { WireRequest } from "../../dialect/wire-dialect.ts";
import { objectMembers, parsePart, wholeValue } from "../../json/scan.ts";

/** Text of a content that is a string or a list of parts. */
export function wordsOf(content: unknown): string {
  if (typeof content === "string") return content;
  return recordsOf(content)
    .map((part) => stringOf(part["text"]))
    .filter(Boolean)
    .join("\n\n");
}

/** Returns members by name, parsed on demand. Throws `JsonScanError`. */
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

/** Thinking level of an effort name; undefined for the model's default. */
export function levelOf(effort: unknown): ThinkingLevel | undefined {
  return Object.hasOwn(LEVELS, stringOf(effort)) ? LEVELS[stringOf(effort)] : undefined;
}

/** The first positive number. */
export function limitOf(...values: readonly unknown[]): number | undefined {
  return values.find((value): value is number => typeof value === "number" && value > 0);
}
