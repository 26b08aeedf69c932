/**
 * `node scripts/authority-matrix.ts`: the matrix of authority as a table. For each operation of the API and method of ACP, and for each field
 * whose value an authority limits: which kinds of callers are refused a value beyond the narrowest caller's.
 */
import { ACP_ROWS, API_ROWS, SURFACE_ROWS, type FieldKind } from "../test/server/authority/field-rows.ts";
import { acpScopeOf, isAcpRefused, isRefused, scopeOf } from "../test/server/authority/matrix-rule.ts";
import { CALLERS, type CallerKind } from "../test/server/authority/matrix-setting.ts";

const CELL = 3;

interface Probe {
  /** Empty: the operation itself. */
  field: string;
  kind: FieldKind;
  isWithin: boolean;
}

function printRow(name: string, cells: readonly string[]): void {
  console.log(`${name.padEnd(84)}${cells.map((cell) => cell.padStart(CELL)).join("")}`);
}

function printOperation(
  title: string,
  row: Readonly<Record<string, FieldKind>>,
  refuses: (caller: CallerKind, probe: Probe) => boolean,
): void {
  const limited = Object.entries(row).filter(([, kind]) => kind !== "data");
  const probes: Probe[] = [
    { field: "", kind: "data", isWithin: true },
    ...limited.map(([field, kind]) => ({ field, kind, isWithin: false })),
  ];
  for (const probe of probes) {
    const cells = CALLERS.map((caller) => (refuses(caller, probe) ? "x" : "."));
    printRow(probe.field === "" ? title : `    ${probe.field}: ${probe.kind}`, cells);
  }
}

CALLERS.forEach(({ name }, index) => console.log(`${index + 1}: ${name}`));
printRow(
  "",
  CALLERS.map((_caller, index) => String(index + 1)),
);
for (const [operation, row] of Object.entries({ ...API_ROWS, ...SURFACE_ROWS }))
  printOperation(`${operation} (${scopeOf(operation)})`, row, (caller, probe) =>
    isRefused(caller, { operation, ...probe }),
  );
console.log("\nACP over the network; `pagurus acp` is the owner:");
for (const [method, row] of Object.entries(ACP_ROWS))
  printOperation(`${method} (${acpScopeOf(method)})`, row, (caller, probe) =>
    isAcpRefused(caller, { method, ...probe }),
  );
console.log("x: refused; .: let through. Fields without a line are data, which no authority limits.");
