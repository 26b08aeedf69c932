/** Edits the input in the person's own editor: `$VISUAL`, `$EDITOR`, else `vi`. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Cli } from "../cli.ts";
import { startProgram } from "@pagurus/core/platform/start-program";

/** The text as it was saved; undefined if the editor failed or left it unchanged. Throws what the file system throws. */
export async function editedText(text: string, env: Cli["env"]): Promise<string | undefined> {
  const editor = env["VISUAL"] || env["EDITOR"] || "vi";
  const folder = await mkdtemp(join(tmpdir(), "pagurus-input-"));
  const file = join(folder, "input.md");
  try {
    await writeFile(file, text, { mode: 0o600 });
    // The setting may have arguments: `code --wait`. It is the person's own and goes through their shell.
    const child = startProgram("/bin/sh", ["-c", `exec ${editor} "$1"`, "sh", file], { stdio: "inherit" });
    const code = await new Promise<number | null>((resolve) => {
      child.once("exit", resolve).once("error", () => resolve(null));
    });
    const saved = code === 0 ? (await readFile(file, "utf8")).replace(/\n$/, "") : undefined;
    return saved === text ? undefined : saved;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
