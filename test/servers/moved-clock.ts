/**
 * Moves the clock of a started program: loaded by `--import`, it adds the milliseconds in the file that `PAGURUS_TEST_CLOCK` names to
 * `Date.now`. The program sees a change within 100 ms.
 */
import { readFileSync } from "node:fs";

const LOOK_MS = 100;
const file = process.env["PAGURUS_TEST_CLOCK"];

if (file !== undefined) {
  const now = Date.now.bind(Date);
  let offset = 0;
  let lookedAt = Number.NEGATIVE_INFINITY;
  Date.now = () => {
    const at = performance.now();
    if (at - lookedAt > LOOK_MS) {
      lookedAt = at;
      offset = Number(readFileSync(file, "utf8"));
    }
    return now() + offset;
  };
}
