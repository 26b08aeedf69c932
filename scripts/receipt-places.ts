/** Compares the fields of a receipt with the code that sets them. Types compare them with the API, the page and reports. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { blanked } from "./source-tokens.ts";

const DECLARED = "packages/contract/src/session/receipt.ts";
/** Makes the receipts of turns and of completions, and measures the prefix that two share. */
const SETTERS = ["run/receipt-book.ts", "receipts/receipt-sink.ts", "receipts/receipt-parts.ts"].map(
  (file) => `packages/host/src/turn/${file}`,
);

/** One sentence for each forgotten place. */
export function checkReceiptPlaces(root: string): string[] {
  const read = (file: string): string => blanked(readFileSync(join(root, file), "utf8"), ["comment", "text"]);
  const [, members = ""] = /export interface Receipt \{\n([^]*?)\n\}/.exec(read(DECLARED)) ?? [];
  const fields = [...members.matchAll(/^ {2}(\w+)\??:/gm)].map(([, name = ""]) => name);
  if (fields.length === 0) return [`${DECLARED} declares no interface Receipt`];
  const setters = SETTERS.map(read).join("\n");
  return fields
    .filter(
      (name) => !new RegExp(`\\breceipt\\.${name} = |[{,\\s]${name}(?:,|: (?!string|number))`).test(setters),
    )
    .map((name) => `nothing in packages/host/src/turn sets ${name} of a receipt`);
}
