/** Edits the configuration file; comments and formatting are kept. */
import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { PagurusError } from "@pagurus/contract/errors";
import { ensurePrivateDir, sweepTemporaries, writeFileAtomic } from "../platform/atomic-files.ts";
import { checkConfig, type CheckResult } from "./config-problems.ts";
import { chosenEngine } from "./defaults.ts";
import { normalizeText, parseJson5 } from "./json5.ts";
import { formatKeyPath, valueAt, type KeyPath } from "./key-path.ts";
import { readConfigText } from "./load-config.ts";
import { unsetInText } from "./revision.ts";
import { writeVerdict } from "./marker.ts";
import { setInText } from "./text-splice.ts";
import type { PermissionRule } from "./config-types.ts";

/** Read attempts while another process writes the file. */
const EDIT_ATTEMPTS = 5;

/** A value as typed by a user: JSON5, or else the text itself. */
export function parseValueText(text: string): unknown {
  if (text.trim() === "") return text;
  try {
    return parseJson5(text, "The value");
  } catch {
    // Text like openai/gpt-5.5 is not JSON5 and is taken literally.
    return text;
  }
}

/**
 * Sets the value at `path`, creating the file (mode 0600) and missing parent objects. Refuses a change that adds a problem to
 * the configuration. Returns warnings about the new configuration. Throws `config_invalid`, `usage_invalid`.
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
        `${file} holds no ${formatKeyPath(path)}, so there is nothing to remove; "pagurus config get" shows its keys.`,
        { details: { path: formatKeyPath(path) } },
      );
    }
    return after;
  });
}

/** Adds a rule to `agents.defaults.permission.allow` for all later runs; false when it exists already. */
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
  for (let attempt = 0; attempt < EDIT_ATTEMPTS; attempt += 1) {
    const stored = readConfigText(file);
    const before = stored === undefined ? newFileText(file) : normalizeText(stored);
    const after = change(before);
    const { warnings, problems, ignored } = checkNotWorse(before, after, file);
    if (after === before && stored !== undefined) return { warnings };
    ensurePrivateDir(dirname(file));
    if (readConfigText(file) !== stored) continue;
    // A symbolic link is kept; its target is written.
    const target = stored === undefined ? file : realpathSync(file);
    sweepTemporaries(target);
    writeFileAtomic(target, after);
    if (problems.length === 0) writeVerdict(dirname(file), after, { warnings, ignored });
    return { warnings };
  }
  throw new PagurusError(
    "config_invalid",
    `${file} is constantly written by another program; try again when that has ended.`,
    { details: { file } },
  );
}

/** A new file names the engine that was in use without it, so that no setting changes another one's value. */
function newFileText(file: string): string {
  const { contextEngine } = chosenEngine({}, false);
  return setInText(normalizeText(""), file, ["plugins", "slots", "contextEngine"], contextEngine);
}

/** Refuses only new problems, so that a user can fix existing ones one by one. */
function checkNotWorse(before: string, after: string, file: string): CheckResult {
  const old = new Set(checkConfig(parseJson5(before, file)).problems);
  const result = checkConfig(parseJson5(after, file));
  const fresh = result.problems.filter((problem) => !old.has(problem));
  const [first] = fresh;
  if (first === undefined) return result;
  throw new PagurusError("config_invalid", `${first.replace(/\.$/, "")}; ${file} is unchanged.`, {
    details: { file, problems: fresh },
  });
}

/** A duplicate key in one object would keep its other value. */
function verifyEdit(text: string, file: string, path: KeyPath, value: unknown): void {
  if (isDeepStrictEqual(valueAt(parseJson5(text, file), path), value)) return;
  throw new PagurusError(
    "config_invalid",
    `A key of ${formatKeyPath(path)} occurs twice in ${file}; remove one of the two and try again.`,
    { details: { file, path: formatKeyPath(path) } },
  );
}
