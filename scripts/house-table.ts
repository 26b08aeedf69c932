/**
 * `npm run prove -- house.6`: figures of a reader, for the commit that the findings were made at and for this checkout, without running
 * either. Ends with 1 when one is not as it should be.
 */
import { resolve } from "node:path";
import { ROOT } from "./command.ts";
import { houseFigures, type Figure } from "./house.ts";
import { BEFORE_WALLS, withOldCheckout } from "./old-checkout.ts";

type Check = (now: number, before: number) => boolean;

/** By the title of the figure: how it should be, in words and as a check. Others are printed beside them. */
const WANTED: Readonly<Record<string, readonly [words: string, check: Check]>> = {
  "longest chain of imports, without those of types": ["≤ 25", (now) => now <= 25],
  "names declared in three or more files": ["≤ 250", (now) => now <= 250],
  "packages in a cycle of imports": ["0", (now) => now === 0],
  "pairs of folders of the turn that import each other": ["0", (now) => now === 0],
  "code in src": ["6,000 fewer", (now, before) => now <= before - 6_000],
};

const before = await withOldCheckout(BEFORE_WALLS, (root) => Promise.resolve(houseFigures(root)), {
  runs: false,
});
const after = houseFigures(resolve(ROOT));
const cell = ({ value, unit }: Figure): string => `${value.toLocaleString("en")} ${unit}`.trim().padStart(16);
console.log(`     ${"".padEnd(64)} ${BEFORE_WALLS.slice(0, 8).padStart(16)} ${"now".padStart(16)}  wanted`);
let missed = 0;
for (const [index, figure] of after.entries()) {
  const old = before[index] ?? figure;
  const [words, check] = WANTED[figure.title] ?? ["", () => true];
  const isRight = check(figure.value, old.value);
  if (!isRight) missed += 1;
  console.log(
    `${isRight ? "    " : "MISS"} ${figure.title.padEnd(64)} ${cell(old)} ${cell(figure)}  ${words}`.trimEnd(),
  );
}
console.log(`${Object.keys(WANTED).length} wanted, ${missed} missed`);
process.exitCode = missed === 0 ? 0 : 1;
