import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { ROOT } from "../../scripts/command.ts";
import { PAGES } from "./pages.ts";

/** Headings and links in code blocks are none. */
function prose(text: string): string {
  return text
    .replaceAll(/^(`{3,})[^]*?^\1$/gm, "")
    .replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll("](", "]"));
}

/** The anchors that a page's headings get. */
function anchors(file: string): Set<string> {
  const headings = [...prose(readFileSync(file, "utf8")).matchAll(/^#+ (.+)$/gm)];
  return new Set(
    headings.map(([, title = ""]) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

function brokenLinks(page: string): string[] {
  const text = prose(readFileSync(join(ROOT, page), "utf8"));
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = "", anchor] = link.split("#");
    const file = path === "" ? join(ROOT, page) : join(ROOT, dirname(page), path);
    if (!existsSync(file)) return true;
    return anchor !== undefined && !anchors(file).has(anchor);
  });
}

describe("the documentation", () => {
  for (const page of PAGES) {
    it(`${page} links to files and headings that exist`, () => {
      assert.deepEqual(brokenLinks(page), []);
    });
  }
});
