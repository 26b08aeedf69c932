/** Where the host listens for adapters. */
import { join } from "node:path";

/** A socket in the folder of the resident host, which the home's user alone may enter. */
export function insideSocket(home: string): string {
  return join(home, "resident", "inside.sock");
}
