/** The program that tests start as a process: the build that `npm test` makes (`scripts/test-program.ts`), else the sources. */
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");
const built = process.env["PAGURUS_TEST_PROGRAM"];

export const LAUNCHER = join(built ?? ROOT, "bin/pagurus.js");
/** Without the launcher. */
export const MAIN =
  built === undefined ? join(ROOT, "packages/cli/src/main.ts") : join(built, "dist/cli/main.js");
