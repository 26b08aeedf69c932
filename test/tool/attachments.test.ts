import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import { readAttachments } from "../../packages/host/src/tool/files/attachments.ts";
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
      { type: "text", text: '<file path="b.txt">\nB\n</file>', source: "file b.txt" },
      { type: "text", text: '<file path="a b.txt">\nA\n</file>', source: "file a b.txt" },
      { type: "image", data: PNG.toString("base64"), mimeType: "image/png" },
    ],
    notices: [],
  });
});

test("a mention of no file inside the folder stays plain text", async (t) => {
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

test("a word that looks like a path and is not attached gets a notice with the reason", async (t) => {
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

test("images may be anywhere but must be images", async (t) => {
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
  assert.deepEqual(parts, [
    { type: "text", text: '<file path="a&amp;b&lt;.txt">\nx\n</file>', source: "file a&b<.txt" },
  ]);
});

test("a mention may name lines of a file, and missing lines are reported (finding D9)", async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, "calc.js"), "one\ntwo\nthree\n");
  writeFileSync(join(cwd, "odd:7"), "a name with a number\n");
  const { parts, notices } = await readAttachments(
    "@calc.js:1-2, @calc.js:3. @calc.js:2-99 @odd:7 @gone.js:4",
    {
      cwd,
    },
  );
  const texts = parts.map((part) => (part.type === "text" ? part.text : ""));
  assert.deepEqual(texts, [
    '<file path="calc.js:1-2">\none\ntwo\n</file>',
    '<file path="calc.js:3">\nthree\n</file>',
    '<file path="calc.js:2-99">\ntwo\nthree\n</file>',
    '<file path="odd:7">\na name with a number\n</file>',
  ]);
  assert.deepEqual(notices, ['"@gone.js:4" is not attached: there is no such file in the workspace.']);
  for (const prompt of ["@calc.js:9", "@calc.js:3-1"]) {
    await assert.rejects(readAttachments(prompt, { cwd }), isInvalid);
  }
});

test("a mention shows nothing of the home of Pagurus nor of key places (finding F2, F4)", async (t) => {
  const cwd = temporaryFolder(t);
  mkdirSync(join(cwd, ".pagurus"));
  mkdirSync(join(cwd, ".ssh"));
  for (const file of [".pagurus/pagurus.json", ".ssh/id"]) writeFileSync(join(cwd, file), "key");
  const env = { PAGURUS_HOME: join(cwd, ".pagurus"), HOME: cwd };
  const { parts, notices } = await readAttachments("@.pagurus/pagurus.json @.ssh/id", { cwd, env });
  assert.deepEqual(parts, []);
  assert.match(notices.join(), /keys are kept there/);
});
