import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { ROOT } from "../../scripts/command.ts";
import { sourceFiles } from "../../scripts/source-files.ts";
import { documentPath } from "../../packages/core/src/platform/document.ts";
import { PAGES } from "./pages.ts";

/** The page without code blocks, which have no headings or links. */
function prose(text: string): string {
  return text
    .replaceAll(/^(`{3,})[^]*?^\1$/gm, "")
    .replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll("](", "]"));
}

/** Anchors of a page's headings. */
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

  it("is named in messages by the path of a page that the package carries (finding E2)", () => {
    const sources = sourceFiles(ROOT).map((file) => readFileSync(join(ROOT, file), "utf8"));
    const named = sources.flatMap((text) =>
      [...text.matchAll(/documentPath\("([^"]+)"\)/g)].map(([, page = ""]) => page),
    );
    assert.ok(named.length >= 6, "messages name pages");
    for (const page of named) assert.ok(existsSync(documentPath(page)), page);
    const { files } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { files: string[] };
    assert.ok(files.includes("docs/**/*.md"));
    // A relative path in a message leads nowhere from a user's folder.
    for (const text of sources) assert.doesNotMatch(text, /^(?! *(\/\/|\*|\/\*\*)).*docs\/[\w/-]+\.md/m);
  });
});
