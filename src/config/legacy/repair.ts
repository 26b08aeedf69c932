/** Says in the words of today what a configuration file says in older ones; comments and formatting stay. */
import { PagurusError } from "../../contract/errors.ts";
import { checkConfig } from "../check.ts";
import { normalizeText, parseJson5 } from "../json5.ts";
import { renameInText, unsetInText } from "../revision.ts";
import { setInText } from "../splice.ts";
import type { Edit } from "./edited.ts";
import { legacyFindings } from "./findings.ts";

export interface Repaired {
  before: string;
  after: string;
  /** What was mended, a sentence each; empty where nothing is. */
  mended: string[];
}

/** More than any file holds; a repair that brings itself about again must end. */
const MOST_REPAIRS = 10_000;

function applied(text: string, file: string, edit: Edit): string {
  switch (edit.kind) {
    case "set":
      return setInText(text, file, edit.path, edit.value);
    case "unset":
      return unsetInText(text, file, edit.path) ?? text;
    case "rename":
      return renameInText(text, file, edit.path, edit.key) ?? text;
  }
}

/** Repairing the result changes nothing. Throws `config_invalid` for a text that is not JSON5, or cannot be mended. */
export function repairText(stored: string, file: string): Repaired {
  const before = normalizeText(stored);
  let after = before;
  const mended: string[] = [];
  for (let round = 0; round < MOST_REPAIRS; round += 1) {
    // One at a time: a repair can move what the next one is about.
    const found = legacyFindings(parseJson5(after, file));
    const edits = found.find((each) => each.edits !== undefined)?.edits;
    if (!edits) {
      checkNotWorse(before, after, file);
      return { before, after, mended };
    }
    const text = edits.reduce((so, edit) => applied(so, file, edit), after);
    if (text === after) break;
    after = text;
    mended.push(...found.filter((each) => each.edits === edits).map(({ what }) => what));
  }
  throw notMendable(file, mended.at(-1) ?? "a key stands in it twice");
}

function checkNotWorse(before: string, after: string, file: string): void {
  const old = new Set(checkConfig(parseJson5(before, file)).problems);
  const fresh = checkConfig(parseJson5(after, file)).problems.find((problem) => !old.has(problem));
  if (fresh !== undefined) throw notMendable(file, fresh);
}

function notMendable(file: string, why: string): PagurusError {
  return new PagurusError(
    "config_invalid",
    `${file} cannot be mended by a program (${why.replace(/\.$/, "")}); mend it by hand; it was left as it is.`,
    { details: { file } },
  );
}
