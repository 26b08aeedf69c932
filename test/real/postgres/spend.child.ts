/** A host that pays requests until it is killed. Arguments: its folder, and the store's settings as JSON. */
import type { PostgresSettings } from "../../../packages/postgres/src/settings.ts";
import { SpendLedger } from "../../../packages/host/src/stores/files/spend/spend-ledger.ts";
import { openHost } from "./hosts.ts";

const [, , folder = "", settings = ""] = process.argv;
const { shared } = openHost(folder, JSON.parse(settings) as PostgresSettings);
const ledger = new SpendLedger(folder, { shared: shared?.spend });
for (;;) {
  ledger.record({ sessionId: "talk", turnId: "t", cost: 0.25 });
  process.stdout.write(".");
  // A host asks for the sum before each request.
  ledger.dayTotal();
}
