/** Rewrites outdated settings of a configuration file in their current form; comments and formatting are kept. */
import { PagurusError } from "@pagurus/contract/errors";
import { checkConfig } from "@pagurus/core/config/config-problems";
import { normalizeText, parseJson5 } from "@pagurus/core/config/json5";
import { renameInText, unsetInText } from "@pagurus/core/config/revision";
import { setInText } from "@pagurus/core/config/text-splice";
import type { Edit } from "./edited.ts";
import { legacyFindings } from "./findings.ts";

export interface Repaired {
  before: string;
  after: string;
  /** One sentence per repair; empty where there is none. */
  repairs: string[];
}

/** More repairs than any file needs; stops a repair that triggers itself. */
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

/** Idempotent. Throws `config_invalid` for a text that is not JSON5, or cannot be repaired. */
export function repairText(stored: string, file: string): Repaired {
  const before = normalizeText(stored);
  let after = before;
  const repairs: string[] = [];
  for (let round = 0; round < MOST_REPAIRS; round += 1) {
    // One at a time: a repair can move the place of the next.
    const found = legacyFindings(parseJson5(after, file));
    const edits = found.find((each) => each.edits !== undefined)?.edits;
    if (!edits) {
      checkNotWorse(before, after, file);
      return { before, after, repairs };
    }
    const text = edits.reduce((so, edit) => applied(so, file, edit), after);
    if (text === after) break;
    after = text;
    repairs.push(...found.filter((each) => each.edits === edits).map(({ what }) => what));
  }
  throw notRepairable(file, repairs.at(-1) ?? "a key occurs in it twice");
}

function checkNotWorse(before: string, after: string, file: string): void {
  const old = new Set(checkConfig(parseJson5(before, file)).problems);
  const fresh = checkConfig(parseJson5(after, file)).problems.find((problem) => !old.has(problem));
  if (fresh !== undefined) throw notRepairable(file, fresh);
}

function notRepairable(file: string, why: string): PagurusError {
  return new PagurusError(
    "config_invalid",
    `${file} cannot be repaired automatically (${why.replace(/\.$/, "")}); fix it by hand; the file is unchanged.`,
    { details: { file } },
  );
}
