/** The module that `require("openclaw/plugin-sdk/…")` gets (`imports.ts`). */
import { kitFor } from "./missing-members.ts";

const kit = kitFor("openclaw/plugin-sdk");

// Node's name for what `require()` returns.
export { kit as "module.exports" };
