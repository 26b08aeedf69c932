/**
 * `npm run prove -- house.1`: the figures of `npm run house` for the old commit and for this checkout, side by side. Ends with 1
 * when a figure of this checkout is outside its limit.
 */
import { resolve } from "node:path";
import { ROOT } from "./command.ts";
import { figuresOf, isWithin, type Figure } from "./house.ts";
import { OLD_COMMIT, withOldCheckout } from "./old-checkout.ts";

function limitOf({ limit }: Figure): string {
  if (limit === undefined) return "";
  return limit.most === undefined ? `≥ ${limit.least}` : `≤ ${limit.most}`;
}

const before = await withOldCheckout(OLD_COMMIT, figuresOf);
const after = await figuresOf(resolve(ROOT));
const cell = ({ value, unit }: Figure): string => `${value.toLocaleString("en")} ${unit}`.trim().padStart(16);
console.log(`     ${"".padEnd(56)} ${OLD_COMMIT.padStart(16)} ${"now".padStart(16)}  limit     others`);
for (const [index, figure] of after.entries()) {
  const old = before[index] ?? figure;
  const mark = isWithin(figure) ? "    " : "MISS";
  const limit = limitOf(figure).padEnd(9);
  console.log(
    `${mark} ${figure.title.padEnd(56)} ${cell(old)} ${cell(figure)}  ${limit} ${figure.anchors ?? ""}`.trimEnd(),
  );
}
const missed = after.filter((figure) => !isWithin(figure));
console.log(`${after.length} figures, ${missed.length} outside their limits`);
process.exitCode = missed.length === 0 ? 0 : 1;
