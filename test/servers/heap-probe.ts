/**
 * Loaded by `--import` into a program that a test starts: at SIGURG it collects garbage and writes the bytes that are in use to the
 * file that `PAGURUS_TEST_HEAP` names. Resident memory alone shows how lazy the collector is.
 */
import { renameSync, writeFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const file = process.env["PAGURUS_TEST_HEAP"];

if (file !== undefined) {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  process.on("SIGURG", () => {
    // The second one frees what finalizers of the first have released.
    collect();
    collect();
    const { heapUsed, external } = process.memoryUsage();
    writeFileSync(`${file}.new`, String(heapUsed + external));
    renameSync(`${file}.new`, file);
  });
}
