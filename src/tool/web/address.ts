/** Classifies network addresses: fetched freely, with permission, or never. */
import { BlockList, isIP } from "node:net";

/** `local`: this machine or a private network. `forbidden`: link-local and cloud metadata services, multicast. */
export type AddressKind = "public" | "local" | "forbidden";

function blockList(ranges: string): BlockList {
  const list = new BlockList();
  for (const range of ranges.split(" ")) {
    const [address = "", bits = ""] = range.split("/");
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? "ipv6" : "ipv4");
  }
  return list;
}

const FORBIDDEN = blockList(
  "169.254.0.0/16 168.63.129.16/32 100.100.100.200/32 224.0.0.0/4 240.0.0.0/4 fe80::/10 fd00:ec2::254/128 ff00::/8",
);
const LOCAL = blockList(
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.0.0.0/24 192.168.0.0/16 198.18.0.0/15 " +
    "::/128 ::1/128 fc00::/7 fec0::/10",
);

/** The IPv4 address inside a mapped, NAT64 or 6to4 address; undefined for any other. */
function embeddedIpv4(address: string): string | undefined {
  // The URL parser normalizes every form of the same address.
  const hex = URL.parse(`http://[${address}]`)?.hostname.slice(1, -1);
  const match =
    /^::(?:ffff:)?([\da-f]{1,4}):([\da-f]{1,4})$/.exec(hex ?? "") ??
    /^64:ff9b::([\da-f]{1,4}):([\da-f]{1,4})$/.exec(hex ?? "") ??
    /^2002:([\da-f]{1,4}):([\da-f]{1,4}):/.exec(hex ?? "");
  if (!match) return undefined;
  const [high, low] = [Number.parseInt(match[1] ?? "", 16), Number.parseInt(match[2] ?? "", 16)];
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");
}

/** `address`: an IP address, without brackets and zone. */
export function addressKind(address: string): AddressKind {
  const inner = isIP(address) === 6 ? embeddedIpv4(address) : undefined;
  if (inner !== undefined) return addressKind(inner);
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  if (FORBIDDEN.check(address, family)) return "forbidden";
  return LOCAL.check(address, family) ? "local" : "public";
}

/** Kind of a URL's host before any DNS lookup; a name counts as public unless it is this machine's. */
export function hostKind(hostname: string): AddressKind {
  const name = hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  if (isIP(name) !== 0) return addressKind(name);
  if (name === "metadata.google.internal" || name === "metadata") return "forbidden";
  return name === "localhost" || name.endsWith(".localhost") ? "local" : "public";
}
