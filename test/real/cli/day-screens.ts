/** The screens of the day: kept as text in docs/guides/screens, and compared without what differs from run to run. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("../../../docs/guides/screens", import.meta.url));

/** `PAGURUS_SCREENS=1` writes the screens in place of comparing them. */
const WRITES = process.env["PAGURUS_SCREENS"] === "1";

/** The part of a screen from the newest input of the person. */
export function sinceInput(screen: string): string {
  const lines = screen.split("\n").map((line) => line.trimEnd());
  const from = lines.findLastIndex((line) => line.startsWith("› "));
  return lines
    .slice(Math.max(0, from))
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}

/** Numbers, times, gauges and widths of lines differ; words and their order do not. */
function comparable(screen: string): string {
  return (
    screen
      .replaceAll(/[\d.,:]*\d/g, "#")
      .replaceAll(/[█▉▊▋▌▍▎▏░]+/g, "░")
      // The short form leaves out tasks that choose them.
      .replaceAll(/^(\w+\/model) · (?:auto|ask)/gm, "$1 · mode")
      .replaceAll(/ · thinking \w+/g, "")
      .replaceAll(/─+/g, "─")
      .replaceAll(/[^\S\n]+/g, " ")
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "" && !/^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/.test(line))
      .join("\n")
  );
}

export class DayScreens {
  readonly #file: string;
  readonly #kept = new Map<string, string>();
  readonly #now = new Map<string, string>();

  /** `size`: for example `60x20`. */
  constructor(size: string) {
    this.#file = join(FOLDER, `day-${size}.txt`);
    const text = existsSync(this.#file) ? readFileSync(this.#file, "utf8") : "";
    for (const part of text.split(/^== /m).slice(1)) {
      const end = part.indexOf("\n");
      this.#kept.set(part.slice(0, end), part.slice(end + 1).trim());
    }
  }

  /** Throws where the screen differs from the kept one. `root`: a folder that is shown as `~`. */
  take(name: string, screen: string, root: string): void {
    const text = sinceInput(screen.replaceAll(root, "~"));
    this.#now.set(name, text);
    if (WRITES) return;
    const kept = this.#kept.get(name);
    assert.ok(kept !== undefined, `no screen of "${name}" is kept; PAGURUS_SCREENS=1 writes it`);
    assert.equal(comparable(text), comparable(kept));
  }

  /** Writes the screens where asked. */
  close(): void {
    if (!WRITES) return;
    const parts = [...this.#now].map(([name, text]) => `== ${name}\n\n${text}\n`);
    writeFileSync(this.#file, parts.join("\n"));
  }
}
