/** Whether a path lies in a folder. */
import { isAbsolute, relative, sep } from "node:path";

/** An empty part, `.` or `..`, or an end that is one. */
const DOTS = /\/\.{0,2}(?:\/|$)/;

function isPlainPath(path: string): boolean {
  return path.startsWith("/") && !DOTS.test(path);
}

/** Whether `path` is `folder` or lies below it; both absolute, links not followed. */
export function isInside(folder: string, path: string): boolean {
  // Most paths are resolved already, and each command compares hundreds.
  if (isPlainPath(folder) && isPlainPath(path)) return path === folder || path.startsWith(`${folder}/`);
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}
