/** The documentation pages, and the code blocks in them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../scripts/command.ts";
import { filesUnder } from "../../scripts/source-files.ts";

/** Relative to the root. */
export const PAGES: readonly string[] = ["README.md", "CONTRIBUTING.md", ...filesUnder(ROOT, "docs", ".md")];

/** Code blocks of one language in a page, in order. */
export function codeBlocks(page: string, language: string): string[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  const blocks = [...text.matchAll(/^```(\S*)\n([^]*?)^```$/gm)];
  return blocks.filter(([, info]) => info === language).map(([, , code = ""]) => code);
}
