/**
 * `node scripts/authority-matrix.ts`: the matrix of authority as a table. For each field of the API whose value an authority limits, and for
 * each operation itself: which kinds of callers are refused a value beyond the narrowest caller's.
 */
import { API_ROWS } from "../test/server/authority/field-rows.ts";
import { isRefused, scopeOf } from "../test/server/authority/matrix-rule.ts";
import { CALLERS } from "../test/server/authority/matrix-setting.ts";

const CELL = 3;
CALLERS.forEach(({ name }, index) => console.log(`${index + 1}: ${name}`));
console.log(`${"".padEnd(84)}${CALLERS.map((_caller, index) => String(index + 1).padStart(CELL)).join("")}`);
for (const [operation, row] of Object.entries(API_ROWS)) {
  const limited = Object.entries(row).filter(([, kind]) => kind !== "data");
  const probes = [
    { field: "", kind: "data" as const, isWithin: true },
    ...limited.map(([field, kind]) => ({ field, kind, isWithin: false })),
  ];
  for (const { field, kind, isWithin } of probes) {
    const cells = CALLERS.map((caller) =>
      isRefused(caller, { operation, field, kind, isWithin }) ? "x" : ".",
    );
    const name = field === "" ? `${operation} (${scopeOf(operation)})` : `    ${field}: ${kind}`;
    console.log(`${name.padEnd(84)}${cells.map((cell) => cell.padStart(CELL)).join("")}`);
  }
}
console.log("x: refused; .: let through. Fields without a line are data, which no authority limits.");
