/** Key file of a session whose header has no key, with the rest of a lost header: next to the transcript, so that it outlives the index. */
import { readFileSync } from "node:fs";
import { writeFileAtomic } from "@pagurus/core/platform/atomic-files";
import { readFailure, systemCode } from "./failures.ts";

export interface KeyFile {
  key: string;
  /** The session's position among those of its key, when it has no header any more. */
  order?: { generation: number; precedence: number };
}

/** Undefined without such a file. Throws `store_read_failed`. */
export function readKeyFile(file: string): KeyFile | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR") return undefined;
    throw readFailure(error, file);
  }
  const [key = "", second = ""] = text.trim().split("\n");
  if (key === "") return undefined;
  const order = /^generation (\d{1,15}) (\d{1,15})$/.exec(second);
  return order ? { key, order: { generation: Number(order[1]), precedence: Number(order[2]) } } : { key };
}

/** The key alone. */
export function readKey(file: string): string | undefined {
  return readKeyFile(file)?.key;
}

/** Throws the system's errors. */
export function writeKeyFile(file: string, { key, order }: KeyFile): void {
  const second = order ? `generation ${order.generation} ${order.precedence}\n` : "";
  writeFileAtomic(file, `${key}\n${second}`);
}
