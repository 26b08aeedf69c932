/** Pictures and texts that come into the input by a paste. */
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, test } from "node:test";
import { readClipboard } from "../../../packages/cli/src/terminal/clipboard.ts";
import { PastedImages } from "../../../packages/cli/src/terminal/pasted-images.ts";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

const roots: string[] = [];
function folder(): string {
  const root = mkdtempSync(join(tmpdir(), "pagurus-pasting-"));
  roots.push(root);
  return root;
}
afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true });
});

/** An environment whose only program is this one. */
function withProgram(name: string, script: string): Record<string, string> {
  const home = folder();
  const bin = join(home, ".local", "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(bin, name), 0o755);
  writeFileSync(join(home, "clip.png"), PNG);
  return { HOME: home, PATH: bin };
}

test("a picture in the clipboard is read by the program of the system", async () => {
  const script = 'case "$*" in *image/png*) exec /bin/cat "$HOME/clip.png";; *) exit 1;; esac';
  const x11 = await readClipboard(withProgram("xclip", script), "linux");
  assert.deepEqual(x11, { image: PNG });
  const wayland = await readClipboard(withProgram("wl-paste", script), "linux");
  assert.deepEqual(wayland, { image: PNG });
});

test("macOS prints a picture as hexadecimal digits", async () => {
  const env = withProgram("osascript", `printf '«data PNGf${PNG.toString("hex").toUpperCase()}»\\n'`);
  writeFileSync(join(env["PATH"] ?? "", "pbpaste"), "#!/bin/sh\n", { mode: 0o755 });
  assert.deepEqual(await readClipboard(env, "darwin"), { image: PNG });
});

test("a clipboard without a picture gives its text, and an empty one a sentence", async () => {
  const script = 'case "$*" in *image/png*) exit 1;; *) printf "two\\nlines";; esac';
  assert.deepEqual(await readClipboard(withProgram("xclip", script), "linux"), { text: "two\nlines" });
  const empty = await readClipboard(withProgram("xclip", "exit 1"), "linux");
  assert.match("problem" in empty ? empty.problem : "", /no picture and no text/);
});

test("a system without a program for the clipboard is answered with their names", async () => {
  const none = await readClipboard({ HOME: "/nowhere", PATH: "/nowhere" }, "linux");
  assert.match("problem" in none ? none.problem : "", /wl-paste or xclip, which is not installed/);
});

test("a picture gets a mark, and the mark leads to its file until the chat ends", () => {
  const images = new PastedImages();
  assert.equal(images.add(PNG), "[image 1]");
  assert.equal(images.add(PNG), "[image 2]");
  const [first, ...more] = images.of("See [image 1], [image 1] and [image 7]");
  assert.ok(first !== undefined && more.length === 0);
  assert.deepEqual(readFileSync(first), PNG);
  images.close();
  assert.equal(existsSync(dirname(first)), false);
});

test("the path of a picture is taken as terminals write it when a file is dropped on them", () => {
  const root = folder();
  const file = join(root, "a shot.png");
  writeFileSync(file, PNG);
  const images = new PastedImages();
  const forms = [file, file.replaceAll(" ", "\\ "), `'${file}'`, `file://${file.replaceAll(" ", "%20")}`];
  for (const form of forms) {
    const mark = images.addPath(`${form} `);
    assert.deepEqual(images.of(mark ?? ""), [file], form);
  }
  for (const other of ["a shot.png", join(root, "missing.png"), "look at /tmp/x.png and go", root])
    assert.equal(images.addPath(other), undefined, other);
});
