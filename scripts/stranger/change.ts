/** A change of a stranger: places of CONTRIBUTING.md, each of which can be forgotten. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { CommandResult } from "../command.ts";

export interface Place {
  /** As CONTRIBUTING.md names it. */
  file: string;
  make(root: string): void | Promise<void>;
  /**
   * What fails when the place is forgotten: `types`, or a step of the lint, and what its report says. Absent: no check can know
   * that it is missing, for the reason in `unchecked`.
   */
  found?: { by: string; message: RegExp };
  unchecked?: string;
}

export interface Change {
  title: string;
  places: readonly Place[];
  /** Paths for `npm test`. */
  tests: readonly string[];
  /** Uses what the change added. Throws where it does not work; returns what it saw. */
  use(root: string, pagurus: Run): Promise<string>;
}

/** The command line of the clone in an empty home. */
export interface Run {
  /** With more variables. */
  (args: readonly string[], env?: Record<string, string>): Promise<CommandResult>;
  /** Node.js in place of the command line. */
  node(args: readonly string[]): Promise<CommandResult>;
  /** The folder that both run in. */
  folder: string;
}

function write(root: string, path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

/** Inserts text after the first match. Throws where the file has none: CONTRIBUTING.md then names a place that is gone. */
export function insertAfter(root: string, path: string, anchor: RegExp | string, text: string): void {
  const old = readFileSync(join(root, path), "utf8");
  const found = typeof anchor === "string" ? anchor : anchor.exec(old)?.[0];
  if (found === undefined || !old.includes(found)) throw new Error(`${path} has no ${String(anchor)}.`);
  const end = old.indexOf(found) + found.length;
  writeFileSync(join(root, path), `${old.slice(0, end)}${text}${old.slice(end)}`);
}

export function newFile(file: string, text: string, found: Place["found"]): Place {
  return { file, make: (root) => write(root, file, text), ...(found ? { found } : {}) };
}

export function edit(file: string, anchor: RegExp | string, text: string, found: Place["found"]): Place {
  return { file, make: (root) => insertAfter(root, file, anchor, text), ...(found ? { found } : {}) };
}

export const CHANGELOG_LINE: Place = {
  file: "CHANGELOG.md",
  make: (root) => insertAfter(root, "CHANGELOG.md", /\n### [^\n]*\n\n/, "- A stranger's change.\n"),
  unchecked: "a history has no source to compare with",
};
