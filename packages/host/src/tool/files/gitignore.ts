/** Rules of one `.gitignore` file. Source: gitignore(5). */
import { globMatcher } from "./glob-pattern.ts";

/** True: ignored; false: re-included with `!`; undefined: no rule matches. The path is relative to the file's folder. */
export type IgnoreTest = (path: string, isFolder: boolean) => boolean | undefined;

interface Rule {
  matches: (path: string) => boolean;
  ignored: boolean;
  foldersOnly: boolean;
}

function parseRule(line: string): Rule | undefined {
  let pattern = line.replace(/\r$/, "").replace(/(?<!\\)[ \t]+$/, "");
  if (pattern === "" || pattern.startsWith("#")) return undefined;
  const ignored = !pattern.startsWith("!");
  if (!ignored) pattern = pattern.slice(1);
  const foldersOnly = pattern.endsWith("/");
  if (foldersOnly) pattern = pattern.slice(0, -1);
  const anchored = pattern.includes("/");
  if (pattern.startsWith("/")) pattern = pattern.slice(1);
  if (pattern === "") return undefined;
  try {
    return {
      matches: globMatcher(anchored ? pattern : `**/${pattern}`, { braces: false }),
      ignored,
      foldersOnly,
    };
  } catch {
    // Git skips an invalid rule.
    return undefined;
  }
}

export function parseGitignore(text: string): IgnoreTest {
  const rules = text.split("\n").flatMap((line) => parseRule(line) ?? []);
  return (path, isFolder) => {
    const rule = rules.findLast((item) => (isFolder || !item.foldersOnly) && item.matches(path));
    return rule?.ignored;
  };
}
