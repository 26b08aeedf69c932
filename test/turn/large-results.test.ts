/** Tool results larger than a transcript's line limit, and how the model reads them. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { PluginTool } from "../../packages/contract/src/host/plugin.ts";
import { openSessionStore } from "../../packages/host/src/stores/files/session-store.ts";
import { boundedResult } from "../../packages/host/src/turn/record/large-results.ts";
import { Bench } from "./in-process.ts";
import { FULL } from "../runner/short-form.ts";

const SMALL = 5_000_000;
/** More than a reader of transcripts accepts in one line. */
const LARGE = FULL ? 270_000_000 : SMALL;

function flood(size: number): PluginTool {
  const text = `BEGIN ${"line of words\n".repeat(Math.ceil(size / 14))}NEEDLE${"x".repeat(5_000)} END`;
  return {
    name: "flood",
    description: "Much.",
    parameters: { type: "object", properties: {} },
    readOnly: true,
    execute: () => Promise.resolve({ content: [{ type: "text", text }], isError: false }),
  };
}

describe("a result of a tool that is too large", () => {
  let bench: Bench;
  afterEach(() => bench.end());

  it("is a stub in the transcript and a file that the model reads, also in a home that is closed to tools (finding F9)", async () => {
    let file = "";
    bench = await Bench.with((request, index) => {
      if (index === 0) return { toolCalls: [{ id: "c1", name: "flood", arguments: {} }] };
      if (index === 1) {
        file = /the whole result is in (\S+?),/.exec(request.text)?.[1] ?? "";
        const path = file;
        return { toolCalls: [{ id: "c2", name: "read", arguments: { path, offset: 1, limit: 2 } }] };
      }
      return { text: "Read." };
    });
    const pagurus = await bench.host({ plugin: (api) => api.registerTool(flood(LARGE)) });
    await bench.ask(pagurus, "Flood", { permission: "deny" });
    const [stub, read] = bench.body(2).messages.flatMap((message) => message.results);
    assert.match(stub?.text ?? "", /^BEGIN line of words/);
    assert.match(stub?.text ?? "", /\d{7,} characters are left out here/);
    assert.match(read?.text ?? "", /BEGIN line of words\n2\tline of words/);
    const stored = pagurus.sessions().find("main")?.file ?? "";
    assert.equal(dirname(dirname(file)), dirname(stored));
    assert.ok(statSync(stored).size < 1_000_000);
    assert.equal(statSync(file).mode & 0o077, 0);
    if (LARGE === SMALL) {
      const text = readFileSync(file, "utf8");
      assert.ok(text.endsWith(" END") && text.includes("NEEDLE"));
      assert.ok(
        text.split("\n").every((line) => line.length <= 2_000),
        "no line is cut by the tool read",
      );
    }
    await bench.ask(pagurus, "And now?");
    pagurus.sessions().delete("main");
    assert.deepEqual(
      readdirSync(dirname(stored)).filter((name) => name.endsWith(".results")),
      [],
    );
  });

  it("is reported when its file could not be written (finding F9)", async () => {
    bench = await Bench.with([]);
    const [part] = boundedResult([{ type: "text", text: "y".repeat(SMALL) }], () => "/dev/null/results");
    assert.ok(part?.type === "text" && part.text.length < 40_000);
    assert.match(part.text, /the whole result could not be kept: .*(ENOTDIR|EEXIST)/);
  });
});

/** A text that JSON cannot represent, as its writer finds out; in full mode also one that only a reader cannot read. */
function tooLong(): string[] {
  const beyond = {
    toJSON(): never {
      throw new RangeError("Invalid string length");
    },
  } as unknown as string;
  return FULL ? [beyond, "z".repeat(256 * 1024 * 1024)] : [beyond];
}

describe("an entry that no reader could read", () => {
  it("is refused by the writer and leaves the session as it was (finding F9)", () => {
    const root = mkdtempSync(join(tmpdir(), "pagurus-line-"));
    const store = openSessionStore({ agentDir: root, agentId: "main" });
    try {
      const writer = store.openWriter("main", { cwd: root, create: true, deadlineMs: 1_000 });
      writer.append({ type: "message", message: { role: "user", content: "before" } });
      const size = statSync(writer.record.file).size;
      for (const content of tooLong()) {
        assert.throws(() => writer.append({ type: "message", message: { role: "user", content } }), {
          code: "store_write_failed",
          message: /268435456 at most; it was not written/,
        });
      }
      assert.equal(statSync(writer.record.file).size, size);
      writer.append({ type: "message", message: { role: "user", content: "after" } });
      assert.equal(writer.contextMessages().messages.length, 2);
      writer.close();
    } finally {
      store.close();
      rmSync(root, { recursive: true, force: true });
    }
  });
});
