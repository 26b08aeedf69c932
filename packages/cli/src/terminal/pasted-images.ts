/** Pictures that were pasted into the input: a mark such as `[image 1]` there, a file for the turn that is sent. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { attempt } from "@pagurus/core/data/attempt";

const PICTURE = /\.(?:png|jpe?g|gif|webp)$/i;
const MARK = /\[image (\d+)\]/g;

export class PastedImages {
  readonly #files: string[] = [];
  #folder: string | undefined;

  /** The mark of a picture. Throws what the file system throws. */
  add(bytes: Buffer): string {
    this.#folder ??= mkdtempSync(join(tmpdir(), "pagurus-paste-"));
    const file = join(this.#folder, `${this.#files.length + 1}.png`);
    writeFileSync(file, bytes, { mode: 0o600 });
    return this.#mark(file);
  }

  /**
   * The mark of a file that a pasted text names, as terminals write one that is dropped on them: `/tmp/a\ b.png`, `'/tmp/a b.png'`,
   * `file:///tmp/a%20b.png`. Undefined for any other text.
   */
  addPath(text: string): string | undefined {
    const trimmed = text.trim();
    if (!PICTURE.test(trimmed.replace(/['"]$/, "")) || trimmed.includes("\n")) return undefined;
    const file = attempt(() => pathOf(trimmed));
    if (file === undefined || attempt(() => statSync(file).isFile()) !== true) return undefined;
    return this.#mark(file);
  }

  #mark(file: string): string {
    this.#files.push(file);
    return `[image ${this.#files.length}]`;
  }

  /** Files of the marks in a text. */
  of(text: string): string[] {
    const files = [...text.matchAll(MARK)].map(([, number]) => this.#files[Number(number) - 1]);
    return [...new Set(files.filter((file) => file !== undefined))];
  }

  /** Removes the pictures from the disk: those that were sent are in the conversation. */
  close(): void {
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Only absolute paths: a word such as `logo.png` is a word. */
function pathOf(text: string): string | undefined {
  const quoted = /^(["'])(.*)\1$/.exec(text)?.[2];
  if (text.startsWith("file://")) return fileURLToPath(text);
  const path = quoted ?? text.replaceAll(/\\(.)/g, "$1");
  if (path.startsWith("~/")) return resolve(homedir(), path.slice(2));
  return path.startsWith("/") ? path : undefined;
}
