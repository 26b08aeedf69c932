import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import {
  buildActiveMemoryPromptSection,
  buildMemorySystemPromptAddition,
  delegateCompactionToRuntime,
} from "../../packages/host/src/plugin-sdk/index.ts";
import { runInEngineFrame } from "../../packages/host/src/plugin/engine-frame.ts";

const SECTIONS = [
  "You have notes.",
  "Look things up with memory_search.",
  "MEMORY.md:\nWe named it memory_search.",
];
const WITH_TOOL = { availableTools: new Set(["read", "memory_search"]) };
const COMPACTION = { sessionId: "s", sessionFile: "f" };

describe("The helpers that an engine calls inside a call of the host", () => {
  it("return the memory's lines unchanged, and as one text", () => {
    runInEngineFrame({ memorySections: SECTIONS }, () => {
      assert.deepEqual(buildActiveMemoryPromptSection(WITH_TOOL), SECTIONS);
      assert.equal(buildMemorySystemPromptAddition(WITH_TOOL), SECTIONS.join("\n"));
    });
  });

  it("leave out the line about a missing tool, and keep what the notes say of it", () => {
    runInEngineFrame({ memorySections: SECTIONS }, () => {
      const kept = [SECTIONS[0], SECTIONS[2]];
      assert.deepEqual(buildActiveMemoryPromptSection({ availableTools: new Set() }), kept);
      assert.deepEqual(buildActiveMemoryPromptSection({ citationsMode: "on" }), kept);
      assert.deepEqual(buildActiveMemoryPromptSection(), kept);
    });
  });

  it("return nothing outside a call and without a memory", () => {
    assert.deepEqual(buildActiveMemoryPromptSection(WITH_TOOL), []);
    assert.equal(buildMemorySystemPromptAddition(WITH_TOOL), undefined);
    runInEngineFrame({ memorySections: [] }, () => {
      assert.equal(buildMemorySystemPromptAddition(WITH_TOOL), undefined);
    });
  });

  it("cannot change the lines for the next call", () => {
    runInEngineFrame({ memorySections: SECTIONS }, () => {
      buildActiveMemoryPromptSection(WITH_TOOL).push("mine");
      assert.deepEqual(buildActiveMemoryPromptSection(WITH_TOOL), SECTIONS);
    });
  });

  it("keep concurrent calls apart, also after an await", async () => {
    const lines = await Promise.all(
      ["a", "b"].map((text) =>
        runInEngineFrame({ memorySections: [text] }, async () => {
          await new Promise(setImmediate);
          return buildMemorySystemPromptAddition(WITH_TOOL);
        }),
      ),
    );
    assert.deepEqual(lines, ["a", "b"]);
  });

  it("are the same for a plugin that brings its own copy of the package", async () => {
    const folder = mkdtempSync(join(tmpdir(), "pagurus-copy-"));
    try {
      mkdirSync(join(folder, "plugin"));
      const copy = join(folder, "plugin", "engine-frame.ts");
      copyFileSync(new URL("../../packages/host/src/plugin/engine-frame.ts", import.meta.url), copy);
      const theirs = (await import(pathToFileURL(copy).href)) as {
        buildMemorySystemPromptAddition: typeof buildMemorySystemPromptAddition;
      };
      assert.notEqual(theirs.buildMemorySystemPromptAddition, buildMemorySystemPromptAddition);
      const lines = runInEngineFrame({ memorySections: ["ours"] }, () =>
        theirs.buildMemorySystemPromptAddition(WITH_TOOL),
      );
      assert.equal(lines, "ours");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe("delegateCompactionToRuntime", () => {
  it("passes the parameters to the host and returns its result", async () => {
    const given: unknown[] = [];
    const result = { ok: true, compacted: true };
    const delegateCompaction = (params: unknown): Promise<typeof result> => {
      given.push(params);
      return Promise.resolve(result);
    };
    const lines = await runInEngineFrame({ memorySections: [], delegateCompaction }, () =>
      delegateCompactionToRuntime(COMPACTION),
    );
    assert.equal(lines, result);
    assert.deepEqual(given, [COMPACTION]);
  });

  it("reports why it did nothing outside compact()", async () => {
    const outside = await delegateCompactionToRuntime(COMPACTION);
    const inside = await runInEngineFrame({ memorySections: [] }, () =>
      delegateCompactionToRuntime(COMPACTION),
    );
    for (const { ok, compacted, reason } of [outside, inside]) {
      assert.deepEqual({ ok, compacted }, { ok: false, compacted: false });
      assert.match(reason ?? "", /compact\(\)\.$/);
    }
    assert.notEqual(outside.reason, inside.reason);
  });
});
