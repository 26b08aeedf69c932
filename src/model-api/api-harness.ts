import { WrapHarness } from "../gateway/wrap/wrap-harness.ts";

/** The runtime of clients' model calls; the host has to be created with it. */
export function modelApiHarness(): WrapHarness {
  return new WrapHarness("api", "A client of the server's model API");
}
