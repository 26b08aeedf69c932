import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Memory, MemoryHit } from "../../packages/contract/src/engine/memory.ts";
import { createFilesMemory } from "../../packages/host/src/memories/files/files-memory.ts";
import { inWorkspace, writeFiles } from "./workspace.ts";
import { unicodeText } from "../runner/unicode-text.ts";
import { longTest } from "../runner/long-tests.ts";
import { byLength } from "../runner/short-form.ts";

function search(memory: Memory, query: string, limit = 10): Promise<MemoryHit[]> {
  return memory.search(query, { limit, signal: new AbortController().signal });
}

async function places(memory: Memory, query: string): Promise<string[]> {
  return (await search(memory, query)).map(({ path, line }) => `${path}:${line}`);
}

const NOTES = {
  "MEMORY.md": "# Facts\n\nThe staging server is called Kelp.\n\nReleases go out on Tuesdays.\n",
  "memory/2026-03-01.md":
    "Talked about colors.\n\n## Deployment\n\nWe chose blue-green deployment for Kelp.\n",
  "memory/style/answers.md": "Short answers are preferred.\n",
  "memory/notes.txt": "Kelp in a file that is no note.\n",
  "other/kelp.md": "Kelp outside of the memory.\n",
};

describe("The files memory's search", () => {
  it("finds passages of MEMORY.md and memory/**.md with path and 1-based line, best first", async () => {
    await inWorkspace(NOTES, async (folder) => {
      const hits = await search(createFilesMemory({ workspaceDir: folder }), "kelp deployment");
      assert.deepEqual(
        hits.map(({ path, line }) => `${path}:${line}`),
        ["memory/2026-03-01.md:3", "MEMORY.md:1"],
      );
      assert.equal(hits[0]?.text, "## Deployment\nWe chose blue-green deployment for Kelp.");
      assert.ok((hits[0]?.score ?? 0) > (hits[1]?.score ?? 0));
    });
  });

  it("matches words in another case, without accents, in the plural and by prefix", async () => {
    await inWorkspace(
      { "MEMORY.md": "Le café à Noël\n\nmany servers\n\nconfigured twice\n" },
      async (folder) => {
        const memory = createFilesMemory({ workspaceDir: folder });
        assert.deepEqual(await places(memory, "CAFE noel"), ["MEMORY.md:1"]);
        assert.deepEqual(await places(memory, "server"), ["MEMORY.md:3"]);
        assert.deepEqual(await places(memory, "configure"), ["MEMORY.md:5"]);
        assert.deepEqual(await places(memory, "figure"), []);
      },
    );
  });

  it("finds words of two characters in scripts without spaces", async () => {
    const text = "我们决定使用蓝绿部署。\n\n東京のサーバーを使う\n\n서버를 다시 시작한다\n\n使用docker部署\n";
    await inWorkspace({ "MEMORY.md": text }, async (folder) => {
      const memory = createFilesMemory({ workspaceDir: folder });
      assert.deepEqual(await places(memory, "决定"), ["MEMORY.md:1"]);
      assert.deepEqual(await places(memory, "サーバー"), ["MEMORY.md:3"]);
      assert.deepEqual(await places(memory, "서버"), ["MEMORY.md:5"]);
      assert.deepEqual(await places(memory, "docker"), ["MEMORY.md:7"]);
      assert.deepEqual(await places(memory, "蓝"), ["MEMORY.md:1"]);
    });
  });

  it("finds a paragraph by its headings and by the date in its file's name", async () => {
    const notes = {
      "memory/2026-05-04.md": "# Billing\n\nfirst\n\nsecond\n",
      "memory/2026-05-05.md": "other\n",
    };
    await inWorkspace(notes, async (folder) => {
      const memory = createFilesMemory({ workspaceDir: folder });
      assert.deepEqual(await places(memory, "billing"), ["memory/2026-05-04.md:1", "memory/2026-05-04.md:5"]);
      assert.equal((await places(memory, "2026-05-05"))[0], "memory/2026-05-05.md:1");
    });
  });

  it("returns passages of at most 700 characters, with their first line number", async () => {
    const long = `one ${"word ".repeat(400)}needle\n`;
    const list = Array.from({ length: 100 }, (_, index) => `- item ${index} of the long list`).join("\n");
    await inWorkspace({ "memory/long.md": `${long}\n${list}\n` }, async (folder) => {
      const memory = createFilesMemory({ workspaceDir: folder });
      const [needle] = await search(memory, "needle");
      assert.deepEqual([needle?.line, needle?.text.endsWith("needle")], [1, true]);
      const [item] = await search(memory, "97");
      assert.ok(
        item &&
          list
            .split("\n")
            .slice(item.line - 3)
            .join("\n")
            .startsWith(item.text.slice(0, 20)),
      );
      for (const { text } of await search(memory, "word item", 50)) assert.ok(text.length <= 700);
    });
  });

  it("respects the limit, and finds nothing for a query without words", async () => {
    const notes = { "MEMORY.md": Array.from({ length: 9 }, (_, index) => `fact ${index}`).join("\n\n") };
    await inWorkspace(notes, async (folder) => {
      const memory = createFilesMemory({ workspaceDir: folder });
      assert.equal((await search(memory, "fact", 4)).length, 4);
      assert.deepEqual(await search(memory, "?! "), []);
      assert.deepEqual(await search(memory, ""), []);
    });
  });

  it("sees a changed, a new and a removed file at the next search", async () => {
    await inWorkspace({ "MEMORY.md": "red\n", "memory/a.md": "green\n" }, async (folder) => {
      const memory = createFilesMemory({ workspaceDir: folder });
      assert.deepEqual(await places(memory, "red"), ["MEMORY.md:1"]);
      // Same size, and the modification time reset.
      writeFileSync(join(folder, "MEMORY.md"), "tan\n");
      utimesSync(join(folder, "MEMORY.md"), 1, 1);
      writeFiles(folder, { "memory/b.md": "blue\n" });
      assert.deepEqual(await places(memory, "red"), []);
      assert.deepEqual(await places(memory, "tan blue"), ["MEMORY.md:1", "memory/b.md:1"]);
    });
  });

  it("stops when its signal fires", async () => {
    await inWorkspace(NOTES, async (folder) => {
      const memory = createFilesMemory({ workspaceDir: folder });
      await assert.rejects(memory.search("kelp", { limit: 1, signal: AbortSignal.abort() }), {
        code: "turn_aborted",
      });
    });
  });

  it("lets other work run while it reads large notes, and resumes from there after an abort", async () => {
    const text = Array.from({ length: 8_000 }, (_, index) => `fact ${index} of the notes\n`).join("\n");
    const notes = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`memory/${index}.md`, text]));
    await inWorkspace({ ...notes, "memory/9.md": "needle\n" }, async (folder) => {
      const memory = createFilesMemory({ workspaceDir: folder });
      const controller = new AbortController();
      setImmediate(() => controller.abort());
      await assert.rejects(memory.search("needle", { limit: 1, signal: controller.signal }), {
        code: "turn_aborted",
      });
      assert.deepEqual(await places(memory, "needle"), ["memory/9.md:1"]);
    });
  });

  it("returns the same hits for the same notes, whatever their content", async () => {
    const text = unicodeText({ maxLength: 1500 });
    await fc.assert(
      fc.asyncProperty(text, fc.array(text, { maxLength: 3 }), text, async (core, others, query) => {
        const notes = Object.fromEntries(others.map((other, index) => [`memory/${index}.md`, other]));
        await inWorkspace({ "MEMORY.md": core, ...notes }, async (folder) => {
          const asked = `${query} ${core.slice(0, 20)}`;
          const hits = await search(createFilesMemory({ workspaceDir: folder }), asked);
          assert.deepEqual(await search(createFilesMemory({ workspaceDir: folder }), asked), hits);
          for (const { path, line, text: found, score } of hits) {
            assert.ok(path === "MEMORY.md" || path.startsWith("memory/"));
            assert.ok(line >= 1 && found.length <= 700 && score > 0);
          }
        });
      }),
      { numRuns: byLength(500, 60, 20) },
    );
  });
});

describe("The files memory's reader", () => {
  it("follows links inside the workspace and no link that leads out of it", async () => {
    await inWorkspace(
      { "secret.md": "needle outside\n", "ws/docs/real.md": "needle inside\n" },
      async (folder) => {
        const workspaceDir = join(folder, "ws");
        mkdirSync(join(workspaceDir, "memory"));
        symlinkSync(join(folder, "secret.md"), join(workspaceDir, "MEMORY.md"));
        symlinkSync(join(folder, "secret.md"), join(workspaceDir, "memory/out.md"));
        symlinkSync(folder, join(workspaceDir, "memory/all"));
        symlinkSync(join(workspaceDir, "memory"), join(workspaceDir, "memory/loop"));
        symlinkSync(join(workspaceDir, "docs/real.md"), join(workspaceDir, "memory/in.md"));
        const memory = createFilesMemory({ workspaceDir });
        assert.deepEqual(await places(memory, "needle"), ["memory/in.md:1"]);
      },
    );
  });

  it("skips unreadable files, binary files and anything that is not a file", async () => {
    await inWorkspace({ "memory/good.md": "needle\n", "memory/binary.md": "needle\0\n" }, async (folder) => {
      writeFiles(folder, { "memory/closed.md": "needle\n", "memory/.hidden/x.md": "needle\n" });
      chmodSync(join(folder, "memory/closed.md"), 0);
      mkdirSync(join(folder, "memory/folder.md"));
      execFileSync("mkfifo", [join(folder, "memory/pipe.md")]);
      symlinkSync("nowhere", join(folder, "memory/dangling.md"));
      const found = await places(createFilesMemory({ workspaceDir: folder }), "needle");
      // Root reads everything.
      const readable = found.filter((place) => !place.includes("closed"));
      assert.deepEqual(readable, ["memory/good.md:1"]);
    });
  });

  longTest("reads the start of an oversized file, and of too many files the last by name", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 2_100 }, (_, index) => [
        `memory/${String(index).padStart(5, "0")}.md`,
        "needle\n",
      ]),
    );
    const large = `needle\n\n${"x ".repeat(200_000)}\n\nthread\n`;
    await inWorkspace({ ...files, "memory/99999.md": large }, async (folder) => {
      const memory = createFilesMemory({ workspaceDir: folder });
      const found = (await search(memory, "needle", 5_000)).map(({ path }) => path);
      assert.equal(found.length, 2_000);
      assert.ok(found.includes("memory/99999.md") && !found.includes("memory/00000.md"));
      assert.deepEqual(await search(memory, "thread"), []);
    });
  });

  it("writes nothing into the workspace", async () => {
    await inWorkspace(NOTES, async (folder) => {
      const before = readdirSync(folder, { recursive: true });
      const memory = createFilesMemory({ workspaceDir: folder });
      await search(memory, "kelp");
      await memory.promptSection({ availableTools: new Set() });
      assert.deepEqual(readdirSync(folder, { recursive: true }), before);
    });
  });
});

describe("The files memory's prompt section", () => {
  const tools = new Set(["memory_search"]);

  it("is empty when there are no notes, or only empty ones", async () => {
    await inWorkspace({ "MEMORY.md": " \n", "memory/empty.md": "", "README.md": "x" }, async (folder) => {
      assert.deepEqual(
        await createFilesMemory({ workspaceDir: folder }).promptSection({ availableTools: tools }),
        [],
      );
    });
    const gone = createFilesMemory({ workspaceDir: join("/", "no", "such", "folder") });
    assert.deepEqual(await gone.promptSection({ availableTools: tools }), []);
    assert.deepEqual(await search(gone, "x"), []);
  });

  it("names the notes, and contains MEMORY.md", async () => {
    await inWorkspace(NOTES, async (folder) => {
      const memory = createFilesMemory({ workspaceDir: folder });
      const lines = await memory.promptSection({ availableTools: tools });
      assert.match(lines[0] ?? "", /MEMORY\.md and the files in memory\//);
      assert.match(lines.join("\n"), /look it up with memory_search/);
      assert.equal(lines.at(-1), `<memory path="MEMORY.md">\n${NOTES["MEMORY.md"].trim()}\n</memory>`);
      assert.deepEqual(await memory.promptSection({ availableTools: tools }), lines);
    });
  });

  it("mentions memory_search only when the turn has that tool", async () => {
    await inWorkspace({ "memory/a.md": "x\n" }, async (folder) => {
      const memory = createFilesMemory({ workspaceDir: folder });
      assert.doesNotMatch(
        (await memory.promptSection({ availableTools: new Set() })).join("\n"),
        /memory_search/,
      );
    });
  });

  it("asks for sources according to the citations mode", async () => {
    await inWorkspace({ "MEMORY.md": "x\n" }, async (folder) => {
      const memory = createFilesMemory({ workspaceDir: folder });
      const linesFor = async (citationsMode: "on" | "off" | "auto"): Promise<string> =>
        (await memory.promptSection({ availableTools: tools, citationsMode })).join("\n");
      assert.match(await linesFor("on"), /as path:line\./);
      assert.match(await linesFor("auto"), /where the user would want to check it/);
      assert.doesNotMatch(await linesFor("off"), /source/);
    });
  });

  it("cuts a long MEMORY.md at a line end and notes the cut", async () => {
    const text = Array.from({ length: 500 }, (_, index) => `- fact ${index} 🦀`).join("\n");
    await inWorkspace({ "MEMORY.md": text }, async (folder) => {
      const [core = ""] = (
        await createFilesMemory({ workspaceDir: folder }).promptSection({ availableTools: tools })
      ).slice(-1);
      assert.ok(core.length < 6_200);
      const cut = /🦀\n\[cut: the first (\d+) of (\d+) bytes; the rest is in the file\]\n<\/memory>$/.exec(
        core,
      );
      assert.equal(Number(cut?.[2]), Buffer.byteLength(text));
      assert.ok(Number(cut?.[1]) > 3_000);
    });
  });
});
