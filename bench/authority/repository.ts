/** A repository with a chosen number of files for the benchmark of commands, the same for each seed. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mulberry32 } from "../generate.ts";

/** Share of the files below `node_modules`. */
const INSTALLED_SHARE = 0.3;
/** Files of a folder; with the folders above them about 14 files a folder. */
const FILES_OF_FOLDER = [4, 24] as const;
const FOLDERS_OF_PACKAGE = 6;
const WORDS = "tide harbour pilot anchor mast keel sail rope deck buoy chart wind".split(" ");
const ENDINGS = ["ts", "ts", "ts", "test.ts", "json", "md", "css"];

class Generator {
  readonly #random: () => number;
  readonly #root: string;
  #files = 0;

  constructor(root: string, seed: number) {
    this.#root = root;
    this.#random = mulberry32(seed);
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  #word(): string {
    return WORDS[this.#below(WORDS.length)] ?? "tide";
  }

  #write(path: string, text: string): void {
    writeFileSync(join(this.#root, path), text);
    this.#files += 1;
  }

  #folder(path: string): string {
    mkdirSync(join(this.#root, path), { recursive: true });
    return path;
  }

  /** A package of a few folders; stops at `until` files. */
  #package(path: string, until: number): void {
    const name = path.slice(path.lastIndexOf("/") + 1);
    this.#folder(path);
    this.#write(`${path}/package.json`, `{ "name": "${name}", "scripts": { "test": "node --test" } }\n`);
    for (let folder = 0; folder < FOLDERS_OF_PACKAGE && this.#files < until; folder += 1) {
      const inner = this.#folder(`${path}/${this.#word()}-${folder}`);
      const count = FILES_OF_FOLDER[0] + this.#below(FILES_OF_FOLDER[1] - FILES_OF_FOLDER[0]);
      for (let file = 0; file < count && this.#files < until; file += 1) {
        const ending = ENDINGS[this.#below(ENDINGS.length)] ?? "ts";
        this.#write(
          `${inner}/${this.#word()}-${this.#word()}-${file}.${ending}`,
          `${this.#word()}\n`.repeat(20),
        );
      }
    }
  }

  make(files: number): void {
    // As `git init` leaves it; hooks and objects are not needed.
    for (const folder of [
      ".git/objects/pack",
      ".git/refs/heads",
      ".git/info",
      ".github/workflows",
      ".vscode",
    ])
      this.#folder(folder);
    this.#write(".git/HEAD", "ref: refs/heads/main\n");
    this.#write(".git/config", "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n");
    this.#write(".github/workflows/ci.yml", "on: push\n");
    this.#write(".vscode/settings.json", "{}\n");
    this.#write(".gitignore", "node_modules\n");
    this.#write("README.md", "A repository.\n");
    const bin = this.#folder("node_modules/.bin");
    const installed = Math.round(files * INSTALLED_SHARE);
    for (let index = 0; this.#files < installed; index += 1) {
      this.#package(`node_modules/${this.#word()}-${index}`, installed);
      if (index % 8 === 0 && this.#files < installed) this.#write(`${bin}/tool-${index}`, "#!/bin/sh\n");
    }
    for (let index = 0; this.#files < files; index += 1)
      this.#package(`packages/${this.#word()}-${index}`, files);
  }
}

/** Writes `files` files into an empty folder. */
export function makeRepository(root: string, files: number, seed = 40): void {
  new Generator(root, seed).make(files);
}
