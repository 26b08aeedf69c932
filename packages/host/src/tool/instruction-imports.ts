/** Imports in instruction files, as Claude Code has them: `@docs/rules.md` adds that file. */
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";

/** Files deeper than this are not added. */
export const MOST_IMPORT_DEPTH = 5;
/** Most files that one folder's instructions add. */
export const MOST_IMPORTS = 20;

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
/** After a space or at a line's start; a sentence's end is no part of it. */
const IMPORT = /(?<=^|[\s(])@((?:~\/|\.{0,2}\/)?[\w.-][\w./-]*(?:\\ [\w./-]+)*)/g;

/** The text outside of fenced blocks and code spans. */
function prose(text: string): string {
  let fence: string | undefined;
  const lines = text.split("\n").map((line) => {
    const mark = FENCE.exec(line)?.[1];
    if (fence !== undefined) {
      if (mark !== undefined && mark.startsWith(fence)) fence = undefined;
      return "";
    }
    if (mark !== undefined) {
      fence = mark;
      return "";
    }
    return line;
  });
  return lines.join("\n").replaceAll(/(`+)(?!`)[^]*?(?<!`)\1(?!`)/g, "");
}

export interface Import {
  /** As it is written, without `@`. */
  written: string;
  /** Absolute. */
  path: string;
  /** It looks like a document, so that a missing one is a mistake and not a word such as `@types/node`. */
  isDocument: boolean;
}

/** Imports of a file, in their order, each once. */
export function importsOf(text: string, file: string): Import[] {
  if (!text.includes("@")) return [];
  const found = new Map<string, Import>();
  for (const [, match = ""] of prose(text).matchAll(IMPORT)) {
    const written = match.replaceAll("\\ ", " ").replace(/[.,/]+$/, "");
    const plain = written.startsWith("~/") ? join(homedir(), written.slice(2)) : written;
    const path = isAbsolute(plain) ? plain : resolve(dirname(file), plain);
    if (written !== "") found.set(path, { written, path, isDocument: /\.(?:mdx?|txt)$/i.test(written) });
  }
  return [...found.values()];
}
