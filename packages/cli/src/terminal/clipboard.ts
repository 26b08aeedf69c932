/** Reads the system's clipboard by the programs that systems have for it: `wl-paste`, `xclip`, and on macOS `osascript` and `pbpaste`. */
import { findProgram } from "@pagurus/core/platform/executables";
import { startProgram } from "@pagurus/core/platform/start-program";
import { imageKind, MOST_IMAGE_BYTES } from "@pagurus/host/tool/files/image-kind";
import type { Cli } from "../cli.ts";

type Command = readonly [program: string, ...args: string[]];

/** Commands that print a picture, and those that print a text. */
const LINUX = {
  image: [
    ["wl-paste", "--type", "image/png"],
    ["xclip", "-selection", "clipboard", "-t", "image/png", "-o"],
  ],
  text: [
    ["wl-paste", "--no-newline"],
    ["xclip", "-selection", "clipboard", "-o"],
  ],
} as const;
const MACOS = {
  image: [["osascript", "-e", "get the clipboard as «class PNGf»"]],
  text: [["pbpaste"]],
} as const;

const MOST_BYTES = 4 * MOST_IMAGE_BYTES;
const PATIENCE_MS = 5_000;

export type Clip = { image: Buffer } | { text: string } | { problem: string };

/** A picture, else a text, else a sentence about why there is none. Never throws. */
export async function readClipboard(env: Cli["env"], platform = process.platform): Promise<Clip> {
  const { image, text } = platform === "darwin" ? MACOS : LINUX;
  const found = (command: Command): string | undefined => findProgram(command[0], { env }).file;
  const here = (commands: readonly Command[]): readonly Command[] => commands.filter(found);
  if (here(text).length === 0) {
    const names = text.map(([program]) => program).join(" or ");
    return { problem: `Ctrl-V reads the clipboard by ${names}, which is not installed; @ attaches a file.` };
  }
  for (const command of here(image)) {
    const bytes = pictureOf(await printed(found(command) ?? "", command.slice(1), env));
    if (bytes.length > MOST_IMAGE_BYTES) return { problem: "The picture in the clipboard is over 5 MB." };
    if (imageKind(bytes) !== undefined) return { image: bytes };
  }
  for (const command of here(text)) {
    const words = (await printed(found(command) ?? "", command.slice(1), env)).toString("utf8");
    if (words !== "") return { text: words };
  }
  return { problem: "The clipboard has no picture and no text." };
}

/** `osascript` prints a picture as `«data PNGf89504E47…»`. */
function pictureOf(output: Buffer): Buffer {
  const hex = /^«data PNGf([0-9A-F]+)»\s*$/.exec(output.toString("utf8"))?.[1];
  return hex === undefined ? output : Buffer.from(hex, "hex");
}

/** The output of a program; empty where it fails. */
function printed(file: string, args: readonly string[], env: Cli["env"]): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const child = startProgram(file, args, { env, stdio: ["ignore", "pipe", "ignore"] });
    const timer = setTimeout(() => child.kill(), PATIENCE_MS);
    const done = (code: number | null): void => {
      clearTimeout(timer);
      resolve(code === 0 ? Buffer.concat(chunks) : Buffer.alloc(0));
    };
    child.stdout?.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > MOST_BYTES) child.kill();
      else chunks.push(chunk);
    });
    child.once("close", done).once("error", () => done(null));
  });
}
