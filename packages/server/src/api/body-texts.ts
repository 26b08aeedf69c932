/** Bounds the texts of a body that are no input of a model: names, ids, folders, types. */
import { PagurusError } from "@pagurus/contract/errors";

/** Members whose length is checked against the model's window, or as that of images. */
const INPUTS: ReadonlySet<string> = new Set(["prompt", "text", "value", "data"]);
const LONGEST = 2 ** 16;

/** Throws `usage_invalid` for such a text, or a member's name, that is too long. */
export function checkNames(value: unknown, member = ""): void {
  if (typeof value === "string") {
    if (!INPUTS.has(member)) checkLength(value, member);
  } else if (Array.isArray(value)) for (const item of value) checkNames(item, member);
  else if (typeof value === "object" && value !== null)
    for (const name in value) {
      checkLength(name, "");
      checkNames((value as Record<string, unknown>)[name], name);
    }
}

function checkLength(text: string, member: string): void {
  if (text.length <= LONGEST) return;
  const what = member === "" ? "A text of the body" : `The text "${member}"`;
  throw new PagurusError(
    "usage_invalid",
    `${what} has ${text.length} characters, and ${LONGEST} are the most; send a shorter one.`,
  );
}
