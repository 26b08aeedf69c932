import { join } from "node:path";
import { packageRoot } from "./package-root.ts";

/** Absolute path of a documentation page (`guides/mcp.md`) of the package. Messages name it, so that a reader can open the page. */
export function documentPath(page: string): string {
  return join(packageRoot(), "docs", page);
}
