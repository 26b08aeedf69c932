/** The server that the page came from. The browser's cookie is the only secret, and no script can read it. */
import { createClient } from "../../src/client/index.ts";

export const server = createClient({ url: location.origin, retryMs: 5_000 });
