/** Conditions of rules of `.claude/rules`: the files that a rule is for, from `paths` (or `globs`) in its front matter. */
import { relative, sep } from "node:path";
import { readFrontMatter } from "@pagurus/core/data/front-matter";
import { globMatcher } from "./files/glob-pattern.ts";
import { isInside } from "@pagurus/core/platform/inside";
import { ToolError } from "./tool-error.ts";

/** Whether a rule is for a file, by its absolute path. */
export type RuleCondition = (file: string) => boolean;

const KEYS = ["paths", "globs"] as const;

/**
 * The condition of a rule in a folder, which its patterns begin in; undefined without one. `problem` says why it cannot be read, as the end
 * of a sentence.
 */
export function ruleCondition(text: string, folder: string): RuleCondition | { problem: string } | undefined {
  const matter = readFrontMatter(text);
  if (!matter) return undefined;
  if ("problem" in matter) return /^(?:paths|globs)[ \t]*:/m.test(text) ? matter : undefined;
  const key = KEYS.find((each) => matter.keys.has(each));
  if (key === undefined) return undefined;
  const field = matter.fields.get(key);
  const values = matter.lists.get(key) ?? (field === undefined ? [] : [field]);
  const patterns = values.flatMap(patternsIn);
  if (patterns.length === 0) return { problem: `its "${key}" has no pattern` };
  try {
    return conditionOf(patterns, folder);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return { problem: error.message.replace(/\.$/, "").replace(/^The /, "the ") };
  }
}

/** Patterns between commas; a comma in braces is part of one: `src/**, lib/*.{ts,tsx}`. */
function patternsIn(value: string): string[] {
  const parts = value.match(/(?:[^,\n{]|\{[^}\n]*\}|\{)+/g) ?? [];
  return parts.map((part) => part.trim().replace(/^(["'])(.*)\1$/, "$2")).filter((part) => part !== "");
}

/** The last pattern that a file matches decides, so that `!src/generated/**` takes files out. Throws `ToolError`. */
function conditionOf(patterns: readonly string[], folder: string): RuleCondition {
  const tests = patterns.map((pattern) => {
    const isNegated = pattern.startsWith("!");
    return { isNegated, matches: matcherOf(isNegated ? pattern.slice(1) : pattern, folder) };
  });
  return (file) => {
    if (!isInside(folder, file)) return false;
    const below = relative(folder, file).split(sep).join("/");
    return tests.findLast(({ matches }) => matches(below))?.isNegated === false;
  };
}

/** A pattern of a folder is for the files in it: `src`, `src/`. */
function matcherOf(written: string, folder: string): (path: string) => boolean {
  const begins = written.startsWith(`${folder}/`) ? written.slice(folder.length) : written;
  const pattern = begins.replace(/^(?:\.?\/)+/, "");
  if (/^(?:\.\.|~)(?:\/|$)/.test(pattern))
    throw new ToolError(`The pattern "${written}" leads out of ${folder}.`);
  const named = pattern.replace(/\/+$/, "");
  if (named === "" || named === ".") return () => true;
  const tests = [globMatcher(`${named}/**`), ...(named === pattern ? [globMatcher(pattern)] : [])];
  return (path) => tests.some((matches) => matches(path));
}
