import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { CatalogFiles } from "../../../packages/runtimes/src/codex/codex-catalog.ts";

const folder = mkdtempSync(join(tmpdir(), "pagurus-catalog-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("each model has a catalog that lists it with unreachable windows; a deleted one is created again", async () => {
  const own = { models: [{ slug: "known", context_window: 1_000, use_responses_lite: false }] };
  const script = `process.stdout.write(${JSON.stringify(JSON.stringify(own))})`;
  const source = { command: process.execPath, args: ["-e", script], env: process.env };
  const catalogs = new CatalogFiles(join(folder, "codex"), () => source);
  const read = (file: string): { slug: string; context_window: number }[] =>
    (JSON.parse(readFileSync(file, "utf8")) as { models: { slug: string; context_window: number }[] }).models;

  const file = await catalogs.file("known");
  assert.deepEqual(
    read(file).map(({ slug }) => slug),
    ["known"],
  );
  const other = await catalogs.file("unknown");
  assert.notEqual(other, file);
  assert.deepEqual(
    read(other).map(({ slug }) => slug),
    ["known", "unknown"],
  );
  for (const entry of read(other)) assert.ok(entry.context_window > 10_000_000);

  assert.equal(await catalogs.file("known"), file);
  rmSync(file);
  assert.equal(await catalogs.file("known"), file);
  assert.equal(read(file).length, 1);
});
