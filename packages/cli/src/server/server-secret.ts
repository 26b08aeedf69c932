/** The secret that authorizes the requests to a server. */
import { attempt } from "@pagurus/core/data/attempt";
import { localKey } from "@pagurus/server/server-address";

/** A token, or the home whose server it is: the key there is another one after each start. */
export type ServerSecret = string | { home: string };

/** For the client's option `token`: the key of a home is read for each request. */
export function tokenOption(secret: ServerSecret): string | (() => string | undefined) {
  if (typeof secret === "string") return secret;
  // Without the file there is no server, which the request finds out.
  return () => attempt(() => localKey(secret.home));
}
