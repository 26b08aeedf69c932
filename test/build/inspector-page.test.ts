/** The built page of the inspector: small, and nothing in it that the page's policy would have to allow. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { buildInspector } from "../../scripts/build.ts";

const MOST_BYTES = 200_000;

interface Manifest {
  start_url: string;
  scope: string;
  display: string;
  icons: { src: string; sizes: string; type: string; purpose?: string }[];
}

describe("the inspector's page", () => {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-page-"));
  before(() => buildInspector(folder));
  after(() => rmSync(folder, { recursive: true, force: true }));

  it("has at most 200 kB, compressed, with what is loaded later", () => {
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      /\.\w+$/.test(name),
    );
    assert.ok(files.length >= 3);
    const sizes = files.map((name) => gzipSync(readFileSync(join(folder, name))).length);
    assert.ok(sizes.reduce((sum, size) => sum + size, 0) <= MOST_BYTES, `${files.join()}: ${sizes.join()}`);
  });

  it("has no inline script or style, and names nothing of another origin", () => {
    const html = readFileSync(join(folder, "index.html"), "utf8");
    for (const [tag = ""] of html.matchAll(/<script[^>]*>/g)) assert.match(tag, /\ssrc="\.\/assets\//);
    assert.doesNotMatch(html, /<style|\sstyle=|\son\w+=|https?:/);
    for (const [, address = ""] of html.matchAll(/(?:src|href)="([^"]*)"/g))
      assert.match(address, /^\.\/(?:assets\/|icon[\w-]*\.(?:svg|png)$|manifest\.webmanifest$)/);
  });

  it("can be installed: a manifest with relative addresses, whose icons are there in their sizes", () => {
    const manifest = JSON.parse(readFileSync(join(folder, "manifest.webmanifest"), "utf8")) as Manifest;
    assert.deepEqual([manifest.start_url, manifest.scope, manifest.display], ["./", "./", "standalone"]);
    for (const { src, sizes, type } of manifest.icons) {
      const bytes = readFileSync(join(folder, src));
      if (type === "image/png")
        assert.equal(`${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`, sizes, src);
      else assert.match(bytes.toString("utf8"), /^<svg [^>]*viewBox="0 0 512 512"/);
    }
    assert.ok(manifest.icons.some(({ purpose }) => purpose === "maskable"));
  });

  it("gives its assets names that change with their contents", () => {
    for (const name of readdirSync(join(folder, "assets"))) assert.match(name, /-[\w-]{8}\.(?:js|css)$/);
  });

  it("sets no markup from text", () => {
    const sources = readdirSync(new URL("../../packages/inspector/src/", import.meta.url), {
      recursive: true,
      encoding: "utf8",
    }).filter((name) => /\.tsx?$/.test(name));
    assert.ok(sources.length > 20);
    for (const name of sources) {
      const source = readFileSync(new URL(`../../packages/inspector/src/${name}`, import.meta.url), "utf8");
      assert.doesNotMatch(
        source,
        /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|\beval\(/,
        name,
      );
    }
  });
});
