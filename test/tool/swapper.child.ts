/** Swaps a folder and a link: `swapper.child.ts <name> <link> <seconds>`. */
import { existsSync, renameSync } from "node:fs";

const [name = "", link = "", seconds = "1"] = process.argv.slice(2);
const until = Date.now() + Number(seconds) * 1_000;
let away = 0;
process.stdout.write("ready\n");

/** Another process may have created the folder again meanwhile; then another one takes part. */
function move(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch {
    return;
  }
}

while (Date.now() < until) {
  const aside = `${name}.away${away}`;
  move(name, aside);
  move(link, name);
  move(name, link);
  move(aside, name);
  if (existsSync(aside)) away += 1;
}
