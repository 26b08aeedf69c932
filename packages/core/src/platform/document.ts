import { fileURLToPath } from "node:url";

/**
 * Absolute path of a documentation page (`guides/mcp.md`); the package carries them two folders above both the sources and the
 * build. Messages name it, so that a reader can open the page.
 */
export function documentPath(page: string): string {
  return fileURLToPath(new URL(`../../../../docs/${page}`, import.meta.url));
}
