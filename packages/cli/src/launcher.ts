import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "@pagurus/core/platform/package-root";
import { usageError } from "./cli-failure.ts";

/** The package's launcher; it finds a Node.js that is new enough by itself. */
export function launcher(): string {
  const file = join(packageRoot(), "bin/pagurus.js");
  if (existsSync(file)) return realpathSync(file);
  throw usageError("The launcher bin/pagurus.js is missing; install Pagurus again.");
}
