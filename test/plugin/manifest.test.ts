import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import fc from "fast-check";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import { findPluginEntry } from "../../packages/host/src/plugin/plugin-entry.ts";
import { isPluginId, readPluginManifest } from "../../packages/host/src/plugin/manifest.ts";
import { unicodeText } from "../runner/unicode-text.ts";
import { byLength } from "../runner/short-form.ts";

const root = mkdtempSync(join(tmpdir(), "pagurus-manifest-"));
after(() => rmSync(root, { recursive: true, force: true }));
let made = 0;

function folderOf(files: Record<string, string>): string {
  const folder = join(root, String((made += 1)));
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

function manifestOf(manifest: object, files: Record<string, string> = {}) {
  return readPluginManifest(folderOf({ ...files, "pagurus.plugin.json": JSON.stringify(manifest) }));
}

const RUNS = byLength(3_000, 150, 150);

describe("a plugin's manifest", () => {
  it("is read with its fields", () => {
    const configSchema = { type: "object", properties: { depth: { type: "integer" } } };
    const manifest = manifestOf(
      {
        id: "deep",
        name: "Deep",
        version: "2.0.0",
        description: "d",
        kind: ["context-engine", "memory"],
        configSchema,
        uiHints: { depth: {} },
        entry: "./lib.js",
      },
      {
        "package.json":
          '{"name": "deep-package", "version": "1.0.0", "openclaw": {"extensions": ["./a.ts"]}, "pagurus": {"extensions": ["./b.ts"]}}',
      },
    );
    assert.deepEqual(manifest, {
      id: "deep",
      name: "Deep",
      version: "2.0.0",
      description: "d",
      kinds: ["context-engine", "memory"],
      configSchema,
      declared: true,
      modules: ["./b.ts", "./a.ts", "./lib.js"],
      needs: {},
      commandAliases: {},
      warnings: [],
    });
  });

  it("takes precedence over that of another host, and a field of package.json can replace it", () => {
    const both = folderOf({
      "pagurus.plugin.json": '{"id": "ours"}',
      "openclaw.plugin.json": '{"id": "theirs"}',
    });
    assert.equal(readPluginManifest(both).id, "ours");
    const field = folderOf({
      "package.json":
        '{"name": "p", "pagurus": {"id": "inline", "kind": "harness", "extensions": ["./x.js"]}}',
    });
    const { id, kinds, modules } = readPluginManifest(field);
    assert.deepEqual([id, kinds, modules], ["inline", ["harness"], ["./x.js"]]);
    assert.equal(readPluginManifest(folderOf({ "package.json": '{"name": "../x"}' })).declared, false);
  });

  it("warns of unknown keys, kinds and values, and continues without them", () => {
    const { warnings, kinds, name } = manifestOf({
      id: "a",
      kind: "channel",
      name: 5,
      colour: "red",
      uiHints: 1,
      providers: [],
    });
    assert.deepEqual([kinds, name], [["channel"], undefined]);
    assert.deepEqual(warnings, [
      "name must be a string, but is a number; it is not used.",
      '"colour" of pagurus.plugin.json is not a known key; it is not used.',
      'The kind "channel" is not known here.',
    ]);
  });

  it("is refused for an invalid id", () => {
    for (const id of [
      5,
      null,
      "",
      "a b",
      "../up",
      "/abs",
      "a/b",
      "@s/",
      "__proto__",
      "constructor",
      "x".repeat(200),
      "a\nb",
    ])
      assert.throws(
        () => manifestOf({ id }),
        { code: "plugin_invalid", message: /: id must be [^\n]*; correct the plugin\.$/ },
        JSON.stringify(id),
      );
    for (const id of ["a", "@scope/a", "A.b_c-1"]) assert.equal(manifestOf({ id }).id, id);
  });

  it("is refused when it is not a file of the folder, or no object, or far too large", () => {
    const outside = join(root, "outside.json");
    writeFileSync(outside, '{"id": "x"}');
    const linked = folderOf({});
    symlinkSync(outside, join(linked, "openclaw.plugin.json"));
    assert.throws(() => readPluginManifest(linked), {
      code: "plugin_invalid",
      message: /symbolic link out of/,
    });
    const circle = folderOf({});
    symlinkSync("package.json", join(circle, "package.json"));
    assert.throws(() => readPluginManifest(circle), {
      code: "plugin_invalid",
      message: /cannot be reached \(ELOOP\)/,
    });
    const nowhere = folderOf({ "index.js": "" });
    symlinkSync("none", join(nowhere, "pagurus.plugin.json"));
    assert.throws(() => readPluginManifest(nowhere), { code: "plugin_invalid", message: /must be a file/ });
    const folder = folderOf({});
    mkdirSync(join(folder, "pagurus.plugin.json"));
    assert.throws(() => readPluginManifest(folder), { code: "plugin_invalid", message: /must be a file/ });
    for (const text of ["[]", "null", "5", '"x"', "{", "", " ".repeat(1_100_000)])
      assert.throws(() => readPluginManifest(folderOf({ "package.json": text })), { code: "plugin_invalid" });
  });

  it("names modules of its own folder only", () => {
    const outside = join(root, "module.js");
    writeFileSync(outside, "");
    for (const name of [
      "../module.js",
      "a/../../module.js",
      "..\\module.js",
      outside,
      "a\0b",
      `x/${"y".repeat(5000)}`,
    ]) {
      const folder = folderOf({
        "package.json": JSON.stringify({ openclaw: { extensions: [name] } }),
        "index.js": "",
      });
      assert.throws(
        () => findPluginEntry(folder),
        { code: "plugin_invalid", message: /not a path within its folder|cannot be reached/ },
        name,
      );
    }
    const linked = folderOf({ "package.json": '{"main": "./in.js"}' });
    symlinkSync(outside, join(linked, "in.js"));
    assert.throws(() => findPluginEntry(linked), { code: "plugin_invalid", message: /symbolic link out of/ });
    const within = folderOf({ "package.json": '{"main": "./in.js"}', "real.js": "" });
    symlinkSync("real.js", join(within, "in.js"));
    assert.equal(findPluginEntry(within).module, join(within, "in.js"));
    const folder = join(root, "link-to-folder");
    symlinkSync(within, folder);
    assert.equal(findPluginEntry(folder).folder, folder);
  });
});

/** Objects with the keys that are read, and anything as their values. */
const hostile = fc.oneof(
  fc.record(
    Object.fromEntries(
      [
        "id",
        "name",
        "version",
        "kind",
        "configSchema",
        "entry",
        "exports",
        "main",
        "pagurus",
        "openclaw",
        "__proto__",
        "extensions",
      ].map((key) => [
        key,
        fc.oneof(fc.jsonValue(), unicodeText(), fc.constantFrom("../x", "/", ".", "a\nb", "constructor")),
      ]),
    ),
    { requiredKeys: [] },
  ),
  fc.jsonValue(),
);

describe("any manifest", () => {
  it("is read, or refused in one sentence", () => {
    const text = fc.oneof(
      { weight: 8, arbitrary: hostile.map((value) => JSON.stringify(value)) },
      unicodeText(),
    );
    let read = 0;
    fc.assert(
      fc.property(text, text, fc.boolean(), (manifest, pkg, own) => {
        const folder = folderOf({
          [own ? "pagurus.plugin.json" : "openclaw.plugin.json"]: manifest,
          ...(own ? {} : { "package.json": pkg }),
          "index.js": "",
        });
        try {
          const entry = findPluginEntry(folder);
          read += 1;
          assert.ok(entry.module.startsWith(folder));
          assert.ok(isPluginId(entry.id) || entry.id === String(made));
          for (const warning of entry.manifest?.warnings ?? []) assert.doesNotMatch(warning, /\n/);
        } catch (error) {
          assert.ok(error instanceof PagurusError, String(error));
          assert.ok(error.code === "plugin_invalid" || error.code === "config_invalid");
          assert.match(error.message, /^[^\n]+\.$/);
        }
      }),
      { numRuns: RUNS },
    );
    assert.ok(read > RUNS / 20, `${read} were read`);
  });
});
