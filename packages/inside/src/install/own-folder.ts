/** The folder of an adapter among the plugins of a program: ours alone, known by a keyword of its manifest. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { attempt } from "@pagurus/core/data/attempt";
import { listOf, parseRecord } from "@pagurus/core/data/record-fields";
import type { FileChange } from "./program-install.ts";

/** Keyword by which our folder is known. */
export const MARK = "pagurus-inside";

export function json(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/**
 * Makes the changes of the files in the folder `root`, whose `manifest` names our keyword. Throws `usage_invalid` for a folder that is not
 * ours.
 */
export function filesIn(
  root: string,
  { manifest, id }: { manifest: string; id: string },
): (name: string, text: string, about: string) => FileChange {
  const found = attempt(() => parseRecord(readFileSync(join(root, manifest), "utf8")));
  if (existsSync(root) && !listOf(found?.["keywords"]).includes(MARK))
    throw new PagurusError(
      "usage_invalid",
      `${root} exists and is not of Pagurus; rename it, and run pagurus install ${id} again.`,
    );
  return (name, text, about) => ({ path: join(root, name), text, about });
}
