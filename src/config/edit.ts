/** Changes the configuration file; comments and formatting stay. */
import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { PagurusError } from "../contract/errors.ts";
import { ensurePrivateDir, writeFileAtomic } from "../platform/files.ts";
import { checkConfig } from "./check.ts";
import { chosenEngine } from "./defaults.ts";
import { normalizeText, parseJson5 } from "./json5.ts";
import { formatKeyPath, valueAt, type KeyPath } from "./key-path.ts";
import { readConfigText } from "./load.ts";
import { unsetInText } from "./revision.ts";
import { setInText } from "./splice.ts";
import type { PermissionRule } from "./types.ts";

/** Rounds of reading anew when another process writes the file meanwhile. */
const ATTEMPTS = 5;

/** A value as typed by a user: JSON5, and where it is none, the text itself. */
export function parseValueText(text: string): unknown {
  if (text.trim() === "") return text;
  try {
    return parseJson5(text, "The value");
  } catch {
    // Words like openai/gpt-5.5 are not JSON5 and are meant as they stand.
    return text;
  }
}

/**
 * Sets the value at `path`, making the file (mode 0600) and the objects on the way where they are missing. What
 * makes the configuration worse than it was is refused. Returns warnings about the new configuration. Throws
 * `config_invalid`, `usage_invalid`.
 */
export function setConfigValue(file: string, path: KeyPath, value: unknown): { warnings: string[] } {
  return editFile(file, (text) => {
    const after = setInText(text, file, path, value);
    verifyEdit(after, file, path, value);
    return after;
  });
}

/** Removes the value at `path`. Throws `config_key_unknown`, `config_invalid`, `usage_invalid`. */
export function unsetConfigValue(file: string, path: KeyPath): { warnings: string[] } {
  return editFile(file, (text) => {
    const after = readConfigText(file) === undefined ? undefined : unsetInText(text, file, path);
    if (after === undefined) {
      throw new PagurusError(
        "config_key_unknown",
        `${file} holds no ${formatKeyPath(path)}, so there is nothing to remove; "pagurus config get" shows what it holds.`,
        { details: { path: formatKeyPath(path) } },
      );
    }
    return after;
  });
}

/** Adds a rule to `agents.defaults.permission.allow` for all later runs; false when it is there already. */
export function rememberPermission(file: string, rule: PermissionRule): boolean {
  const path: KeyPath = ["agents", "defaults", "permission", "allow"];
  let added = false;
  editFile(file, (text) => {
    const rules = valueAt(parseJson5(text, file), path);
    added = !(Array.isArray(rules) && rules.some((known) => isDeepStrictEqual(known, rule)));
    if (!added) return text;
    return Array.isArray(rules)
      ? setInText(text, file, [...path, rules.length], rule)
      : setInText(text, file, path, [rule]);
  });
  return added;
}

function editFile(file: string, change: (text: string) => string): { warnings: string[] } {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const stored = readConfigText(file);
    const before = stored === undefined ? newFileText(file) : normalizeText(stored);
    const after = change(before);
    const warnings = checkNotWorse(before, after, file);
    if (after === before && stored !== undefined) return { warnings };
    ensurePrivateDir(dirname(file));
    if (readConfigText(file) !== stored) continue;
    // A file kept elsewhere and linked here stays there.
    writeFileAtomic(stored === undefined ? file : realpathSync(file), after);
    return { warnings };
  }
  throw new PagurusError(
    "config_invalid",
    `${file} is being written by another program all the time; try again when it has ended.`,
    { details: { file } },
  );
}

/** A file that is made names the engine that was in use without it: no setting changes another one's value. */
function newFileText(file: string): string {
  const { contextEngine } = chosenEngine({}, false);
  return setInText(normalizeText(""), file, ["plugins", "slots", "contextEngine"], contextEngine);
}

/** Problems that were there before must not keep a user from mending them one by one. */
function checkNotWorse(before: string, after: string, file: string): string[] {
  const old = new Set(checkConfig(parseJson5(before, file)).problems);
  const { problems, warnings } = checkConfig(parseJson5(after, file));
  const fresh = problems.filter((problem) => !old.has(problem));
  const [first] = fresh;
  if (first === undefined) return warnings;
  throw new PagurusError("config_invalid", `${first.replace(/\.$/, "")}; ${file} was left as it is.`, {
    details: { file, problems: fresh },
  });
}

/** A key that stands twice in one object would keep its other value. */
function verifyEdit(text: string, file: string, path: KeyPath, value: unknown): void {
  if (isDeepStrictEqual(valueAt(parseJson5(text, file), path), value)) return;
  throw new PagurusError(
    "config_invalid",
    `A key of ${formatKeyPath(path)} stands twice in ${file}; remove one of the two and try again.`,
    { details: { file, path: formatKeyPath(path) } },
  );
}
