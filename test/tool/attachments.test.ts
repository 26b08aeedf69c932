import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { PagurusError } from "../../src/contract/errors.ts";
import { readAttachments } from "../../src/tool/attachments.ts";
import { temporaryFolder } from "./fixture.ts";

const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
const isInvalid = (error: unknown): boolean =>
  error instanceof PagurusError && error.code === "attachment_invalid";

test("mentioned files come after the prompt, once each, in the order of the words", async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, "b.txt"), "B");
  writeFileSync(join(cwd, "a b.txt"), "A\n");
  writeFileSync(join(cwd, "x.dat"), PNG);
  const prompt = 'Look at @b.txt, (@"a b.txt") and @./b.txt. Also @x.dat!';
  assert.deepEqual(await readAttachments(prompt, { cwd }), {
    prompt,
    parts: [
      { type: "text", text: '<file path="b.txt">\nB\n</file>' },
      { type: "text", text: '<file path="a b.txt">\nA\n</file>' },
      { type: "image", data: PNG.toString("base64"), mimeType: "image/png" },
    ],
    notices: [],
  });
});

test("what names no file inside the folder stays plain text", async (t) => {
  const base = temporaryFolder(t);
  const cwd = join(base, "w");
  mkdirSync(join(cwd, "folder"), { recursive: true });
  writeFileSync(join(base, "secret.txt"), "s");
  writeFileSync(join(cwd, "host.com"), "h");
  symlinkSync("../secret.txt", join(cwd, "link"));
  symlinkSync("loop", join(cwd, "loop"));
  const prompt = `@Injectable me@host.com @folder @../secret.txt @${base}/secret.txt @link @loop @ @"" @~/.ssh/id_rsa`;
  assert.deepEqual((await readAttachments(prompt, { cwd })).parts, []);
});

test("a word that looks like a path and is not attached is noticed, with the reason", async (t) => {
  const base = temporaryFolder(t);
  const cwd = join(base, "w");
  mkdirSync(join(cwd, "src"), { recursive: true });
  writeFileSync(join(base, "secret.txt"), "s");
  writeFileSync(join(cwd, "here.txt"), "h");
  const prompt =
    'See @none.txt, @"my notes.md", @src/ and @src, @none.txt again, @here.txt, @/etc/shadow, @../secret.txt! ' +
    "Thanks @Injectable, @user. me@host.com @v1.2 @... (@here.txt)";
  const { parts, notices } = await readAttachments(prompt, { cwd });
  assert.equal(parts.length, 1);
  assert.deepEqual(notices, [
    '"@none.txt" is not attached: there is no such file in the workspace.',
    '"@my notes.md" is not attached: there is no such file in the workspace.',
    '"@src/" is not attached: it is a folder.',
    '"@/etc/shadow" is not attached: it is outside the workspace.',
    '"@../secret.txt" is not attached: it is outside the workspace.',
  ]);
});

test("a mentioned file that is too large or binary is refused by name", async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, "large.txt"), "x".repeat(256 * 1024 + 1));
  writeFileSync(join(cwd, "tool.bin"), Buffer.from([1, 0, 2]));
  await assert.rejects(readAttachments("@large.txt", { cwd }), (error: Error) => {
    assert.match(error.message, /"large\.txt" cannot be attached: it has 262145 bytes/);
    return isInvalid(error);
  });
  await assert.rejects(readAttachments("@tool.bin", { cwd }), isInvalid);
});

test("images may lie anywhere but must be images", async (t) => {
  const base = temporaryFolder(t);
  const cwd = join(base, "w");
  mkdirSync(cwd);
  writeFileSync(join(base, "p.png"), PNG);
  writeFileSync(join(base, "p.txt"), "text");
  writeFileSync(join(base, "big.png"), Buffer.concat([PNG, Buffer.alloc(5 * 1024 * 1024)]));
  const { parts } = await readAttachments("hi", { cwd, images: ["../p.png", join(base, "p.png")] });
  assert.deepEqual(
    parts.map(({ type }) => type),
    ["image", "image"],
  );
  for (const image of ["../p.txt", "../big.png", "../missing.png", base]) {
    await assert.rejects(readAttachments("hi", { cwd, images: [image] }), isInvalid, image);
  }
});

test("the header of a file cannot be broken by its name", async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, `a&b<.txt`), "x");
  const { parts } = await readAttachments(`@"a&b<.txt"`, { cwd });
  assert.deepEqual(parts, [{ type: "text", text: '<file path="a&amp;b&lt;.txt">\nx\n</file>' }]);
});
