import { WrapHarness } from "@pagurus/gateway/wrap/wrap-harness";

/** The runtime of clients' model calls; the host has to be created with it. */
export function modelApiHarness(): WrapHarness {
  return new WrapHarness("api", "A client of the server's model API");
}
