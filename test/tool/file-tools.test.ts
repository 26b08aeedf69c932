import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { fixture, textOf } from "./fixture.ts";

const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

test("read numbers the lines and reports where a window continues", async (t) => {
  const { write, call } = fixture(t);
  write("a.txt", "one\ntwo\r\nthree\n");
  assert.equal(textOf(await call("read", { path: "a.txt" })), "1\tone\n2\ttwo\n3\tthree");
  assert.equal(
    textOf(await call("read", { path: "a.txt", offset: 2, limit: 1 })),
    "2\ttwo\n[lines 2-2 of 3; continue with offset 3]",
  );
  assert.match(textOf(await call("read", { path: "a.txt", offset: 9 })), /has 3 lines/);
  write("empty", "");
  assert.match(textOf(await call("read", { path: "empty" })), /is empty/);
});

test("read cuts long lines and long files with a note", async (t) => {
  const { write, call } = fixture(t);
  write("wide.txt", `${"x".repeat(5_000)}\nnext\n`);
  const wide = textOf(await call("read", { path: "wide.txt" }));
  assert.match(wide, /\[line cut: 5000 characters\]\n2\tnext$/);
  write("long.txt", "some words in a line of text\n".repeat(10_000));
  const long = textOf(await call("read", { path: "long.txt" }));
  assert.ok(long.length < 45_000);
  const next = /continue with offset (\d+)\]$/.exec(long)?.[1];
  const following = textOf(await call("read", { path: "long.txt", offset: Number(next), limit: 1 }));
  assert.ok(following.startsWith(`${next}\tsome words`));
  write("huge.txt", "y".repeat(20 * 1024 * 1024));
  assert.match(textOf(await call("read", { path: "huge.txt" })), /line cut: 20971520 characters/);
});

test("read keeps characters whole at the edges of its chunks and knows byte order marks", async (t) => {
  const { write, call } = fixture(t);
  const text = `a${"é€😀".repeat(120_000)}\nend`;
  write("wide.txt", text);
  assert.match(textOf(await call("read", { path: "wide.txt", offset: 2 })), /^2\tend/);
  assert.ok(!textOf(await call("read", { path: "wide.txt" })).includes("\uFFFD"));
  write("utf16.txt", Buffer.from("\uFEFFhallo\nwelt", "utf16le"));
  assert.equal(textOf(await call("read", { path: "utf16.txt" })), "1\thallo\n2\twelt");
});

test("read returns images as images and refuses other binary files and folders", async (t) => {
  const { write, call, root } = fixture(t);
  write("a.dat", PNG);
  const image = await call("read", { path: "a.dat" });
  assert.deepEqual(image.content[1], { type: "image", data: PNG.toString("base64"), mimeType: "image/png" });
  write("big.png", Buffer.concat([PNG, Buffer.alloc(5 * 1024 * 1024)]));
  assert.match(textOf(await call("read", { path: "big.png" })), /is the most/);
  write("b.bin", Buffer.from([1, 2, 0, 3]));
  assert.match(textOf(await call("read", { path: "b.bin" })), /binary file of 4 bytes/);
  mkdirSync(join(root, "folder"));
  assert.match(textOf(await call("read", { path: "folder" })), /is a folder; use glob/);
});

test("a missing file is answered with similar names", async (t) => {
  const { write, call } = fixture(t);
  write("src/package.json", "{}");
  const outcome = await call("read", { path: "src/packge.json" });
  assert.equal(outcome.isError, true);
  assert.match(textOf(outcome), /does not exist\. Similar names there: package\.json/);
  assert.match(textOf(await call("read", { path: "nowhere/x" })), /folder does not exist either/);
});

test("write creates parents, replaces as a whole, keeps the mode and leaves no temporary files", async (t) => {
  const { write, call, root } = fixture(t);
  const created = await call("write", { path: "deep/er/a.txt", content: "x\ny" });
  assert.match(textOf(created), /^Created "deep\/er\/a\.txt": 2 lines, 3 bytes/);
  const script = write("run.sh", "old");
  chmodSync(script, 0o755);
  assert.match(textOf(await call("write", { path: "run.sh", content: "new" })), /^Overwrote/);
  assert.equal(readFileSync(script, "utf8"), "new");
  assert.equal(statSync(script).mode & 0o777, 0o755);
  assert.deepEqual(readdirSync(root).sort(), ["deep", "run.sh"]);
});

test("write refuses folders, the workspace itself and a file as a folder, and harms nothing", async (t) => {
  const { write, call, root } = fixture(t);
  write("file", "keep");
  mkdirSync(join(root, "folder"));
  assert.equal((await call("write", { path: "folder", content: "x" })).isError, true);
  assert.equal((await call("write", { path: ".", content: "x" })).isError, true);
  assert.equal((await call("write", { path: "file/below", content: "x" })).isError, true);
  assert.deepEqual(readdirSync(root).sort(), ["file", "folder"]);
  assert.equal(readFileSync(join(root, "file"), "utf8"), "keep");
});

test("edit replaces one place and reports the line", async (t) => {
  const { write, call } = fixture(t);
  const path = write("a.ts", "let a = 1;\nlet b = 2;\n");
  assert.equal(
    textOf(await call("edit", { path: "a.ts", old_text: "b = 2", new_text: "b = $& $1" })),
    'Edited "a.ts" at line 2.',
  );
  assert.equal(readFileSync(path, "utf8"), "let a = 1;\nlet b = $& $1;\n");
});

test("edit refuses text that is not unique unless all are meant", async (t) => {
  const { write, call } = fixture(t);
  const path = write("a.txt", "x\nfoo\nx\nfoo\n");
  const refused = await call("edit", { path: "a.txt", old_text: "foo", new_text: "bar" });
  assert.match(textOf(refused), /is 2 times in "a\.txt" \(lines 2, 4\)/);
  await call("edit", { path: "a.txt", old_text: "foo", new_text: "bar", replace_all: true });
  assert.equal(readFileSync(path, "utf8"), "x\nbar\nx\nbar\n");
});

test("edit shows the nearest text where the old one is not found", async (t) => {
  const { write, call } = fixture(t);
  write("a.ts", "function one() {\n  return 1;\n}\n\nfunction two() {\n  return 2;\n}\n");
  const near = await call("edit", {
    path: "a.ts",
    old_text: "function two() {\n    return 2;\n}",
    new_text: "x",
  });
  assert.match(textOf(near), /Closest:\nline 5:\nfunction two\(\) \{\n {2}return 2;\n\}/);
  const far = await call("edit", { path: "a.ts", old_text: "zzzzqqqq", new_text: "x" });
  assert.match(textOf(far), /nothing there resembles it/);
  const numbered = await call("edit", { path: "a.ts", old_text: "1\tfunction one() {", new_text: "x" });
  assert.match(textOf(numbered), /leave out the line numbers/);
});

test("edit keeps CRLF line ends and a byte order mark", async (t) => {
  const { write, call } = fixture(t);
  const path = write("dos.txt", "\uFEFFone\r\ntwo\r\nthree\r\n");
  await call("edit", { path: "dos.txt", old_text: "one\ntwo", new_text: "1\n2\n2b" });
  await call("edit", { path: "dos.txt", old_text: "three", new_text: "3\n4" });
  assert.equal(readFileSync(path, "utf8"), "\uFEFF1\r\n2\r\n2b\r\n3\r\n4\r\n");
});

test("edit refuses files that it would damage", async (t) => {
  const { write, call } = fixture(t);
  write("latin1.txt", Buffer.from([0x61, 0xe9, 0x62]));
  write("bin", Buffer.from([0x61, 0, 0x62]));
  assert.match(textOf(await call("edit", { path: "latin1.txt", old_text: "a", new_text: "b" })), /not UTF-8/);
  assert.match(textOf(await call("edit", { path: "bin", old_text: "a", new_text: "b" })), /binary/);
  assert.match(textOf(await call("edit", { path: "bin", old_text: "", new_text: "b" })), /is empty/);
  assert.match(textOf(await call("edit", { path: "bin", old_text: "a", new_text: "a" })), /are the same/);
});

test("property: an edit of a unique text changes exactly that text", async (t) => {
  const { write, call, root } = fixture(t);
  const lines = fc.array(
    fc.string({ maxLength: 12 }).map((text) => text.replaceAll(/[\r\n\0§]/g, "")),
    {
      maxLength: 6,
    },
  );
  await fc.assert(
    fc.asyncProperty(lines, lines, fc.string({ maxLength: 10 }), async (before, after, fresh) => {
      const newText = fresh.replaceAll(/[\r\0]/g, "");
      const [head, tail] = [before.join("\n"), after.join("\n")];
      write("p.txt", `${head}§old§${tail}`);
      const outcome = await call("edit", { path: "p.txt", old_text: "§old§", new_text: newText });
      assert.equal(outcome.isError, false, textOf(outcome));
      assert.equal(readFileSync(join(root, "p.txt"), "utf8"), `${head}${newText}${tail}`);
    }),
    { numRuns: 60 },
  );
});

test("parallel edits of one file are applied one after the other", async (t) => {
  const { write, call, root } = fixture(t);
  write("list.txt", Array.from({ length: 20 }, (_, index) => `<${index}>`).join("\n"));
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      call("edit", {
        path: index % 2 ? "list.txt" : "./list.txt",
        old_text: `<${index}>`,
        new_text: `[${index}]`,
      }),
    ),
  );
  assert.equal(outcomes.filter(({ isError }) => isError).length, 0);
  assert.equal(readFileSync(join(root, "list.txt"), "utf8").includes("<"), false);
});

test("a deny rule for read hides the file from search and glob as well", async (t) => {
  const { write, call } = fixture(t, {
    permission: { mode: "auto", deny: [{ tool: "read", match: ".env" }] },
  });
  write("conf/.env", "TOKEN=1");
  write("conf/a.txt", "TOKEN=2");
  assert.match(textOf(await call("read", { path: "conf/.env" })), /deny rule/);
  assert.equal(textOf(await call("search", { pattern: "TOKEN" })), "conf/a.txt:1: TOKEN=2");
  assert.equal(textOf(await call("glob", { pattern: "**" })), "conf/a.txt");
});
