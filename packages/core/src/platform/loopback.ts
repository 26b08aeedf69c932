/** Whether a host, as in an address or a URL, is this machine: by an address of the loopback or its name, never by how a name begins. */
import { isIPv4 } from "node:net";

export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, "$1");
  return name === "localhost" || name === "::1" || (name.startsWith("127.") && isIPv4(name));
}
