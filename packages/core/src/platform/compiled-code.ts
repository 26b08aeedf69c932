import { flushCompileCache } from "node:module";
import { writeStartScripts } from "./start-script.ts";

/** Node writes compiled code when a process exits by itself; a process that is killed would compile all of it again at each start. */
export function keepCompiledCode(): void {
  // As in bin/start.js: no other user may replace it. The call is synchronous, so no other file gets this mask.
  const umask = process.umask(0o077);
  flushCompileCache();
  writeStartScripts();
  process.umask(umask);
}
