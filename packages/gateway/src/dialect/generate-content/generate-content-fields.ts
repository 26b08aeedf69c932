/** Access to the members of a generateContent body. */
import { type Fields, isRecord, recordOf, recordsOf } from "@pagurus/core/data/record-fields";
import { memberOf } from "@pagurus/core/protocols/gemini/gemini-parts";
import { objectMembers, parsePart, wholeValue, type Span } from "../../json/scan.ts";

export type Members = ReadonlyMap<string, Span>;

/** The span of a member, by its JSON name or the one with underscores, which the API accepts too. */
export function spanOf(members: Members, name: string): Span | undefined {
  return members.get(name) ?? members.get(name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}

/** Members of the request; of a count those of the request that it counts, if it has one. Throws `JsonScanError`. */
export function requestMembers(body: Buffer): Members {
  const members = objectMembers(body, wholeValue(body));
  const counted = spanOf(members, "generateContentRequest");
  return counted && !members.has("contents") ? objectMembers(body, counted) : members;
}

/** The parsed value of a member; undefined if the request lacks it. Throws `JsonScanError`. */
export function valueOf(body: Buffer, members: Members, name: string): unknown {
  const span = spanOf(members, name);
  return span && parsePart(body, span);
}

/** The functions that tools declare; the API accepts one object in place of a list. */
export function declaredFunctions(tools: unknown): readonly Fields[] {
  const all = isRecord(tools) ? [tools] : recordsOf(tools);
  return all.flatMap((tool) => {
    const declared = memberOf(tool, "functionDeclarations");
    return isRecord(declared) ? [declared] : recordsOf(declared);
  });
}

export function recordAt(body: Buffer, members: Members, name: string): Fields {
  return recordOf(valueOf(body, members, name));
}
