/** The thin entry of the package, bin/thin.js, which says how its frames look and what a process's place is. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Socket } from "node:net";
import { launcher } from "../launcher.ts";

export interface ThinEntry {
  file: string;
  place(): string;
  frame(letter: string, payload?: string | Uint8Array): Buffer;
  readFrames(socket: Socket, receive: (letter: string, payload: Buffer) => void): void;
}

export function thinEntry(): ThinEntry {
  const file = join(dirname(launcher()), "thin.js");
  const { place, frame, readFrames } = createRequire(import.meta.url)(file) as Omit<ThinEntry, "file">;
  return { file, place, frame, readFrames };
}
