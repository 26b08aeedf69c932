/** Classifies network addresses: fetched freely, with permission, or never. */
import { BlockList, isIP } from "node:net";

/** `local`: this machine or a private network. `forbidden`: link-local and cloud metadata services, multicast. */
export type AddressKind = "public" | "local" | "forbidden";

function blockList(ranges: string): BlockList {
  const list = new BlockList();
  for (const range of ranges.split(" ")) {
    const [address = "", bits = ""] = range.split("/");
    list.addSubnet(address, Number(bits), address.includes(":") ? "ipv6" : "ipv4");
  }
  return list;
}

const FORBIDDEN = blockList(
  "169.254.0.0/16 168.63.129.16/32 100.100.100.200/32 224.0.0.0/4 240.0.0.0/4 fe80::/10 fd00:ec2::254/128 ff00::/8",
);
const LOCAL = blockList(
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.0.0.0/24 192.168.0.0/16 198.18.0.0/15",
);
/** The only part of IPv6 that is public; what is outside of it (unique local, site local, NAT64 of a network, unassigned) is local. */
const GLOBAL = blockList("2000::/3");
/** Special parts of it: protocol assignments with Teredo and ORCHID, documentation. */
const SPECIAL = blockList("2001::/23 2001:db8::/32 3fff::/20");

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  // The URL parser normalizes every form of the same address.
  const [head = "", tail] = (URL.parse(`http://[${address}]`)?.hostname.slice(1, -1) ?? "").split("::");
  const parsed = (text: string): number[] =>
    text === "" ? [] : text.split(":").map((part) => Number.parseInt(part, 16));
  const [first, last] = [parsed(head), parsed(tail ?? "")];
  return [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last];
}

/**
 * The IPv4 address inside an IPv6 address: compatible, mapped (`::ffff:a.b.c.d`), translated (`::ffff:0:a.b.c.d`), NAT64
 * (`64:ff9b::a.b.c.d`), 6to4 (`2002:…`); undefined for any other.
 */
function embeddedIpv4(address: string): string | undefined {
  const groups = groupsOf(address);
  const starts = (...prefix: number[]): boolean => prefix.every((group, index) => groups[index] === group);
  const ipv4 = (at: number): string => {
    const [high = 0, low = 0] = groups.slice(at, at + 2);
    return [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");
  };
  if (starts(0, 0, 0, 0, 0, 0) || starts(0, 0, 0, 0, 0, 0xffff) || starts(0, 0, 0, 0, 0xffff, 0))
    return ipv4(6);
  if (starts(0x64, 0xff9b, 0, 0, 0, 0)) return ipv4(6);
  if (starts(0x2002)) return ipv4(1);
  return undefined;
}

/** The IPv4 address that a machine in any network has by ISATAP (`…:5efe:a.b.c.d`). */
function isatapIpv4(address: string): string | undefined {
  const [, , , , flags = 0, mark, high = 0, low = 0] = groupsOf(address);
  if (mark !== 0x5efe || (flags & 0xfdff) !== 0) return undefined;
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");
}

/** `address`: an IP address, without brackets and zone. */
export function addressKind(address: string): AddressKind {
  if (isIP(address) !== 6) {
    if (FORBIDDEN.check(address, "ipv4")) return "forbidden";
    return LOCAL.check(address, "ipv4") ? "local" : "public";
  }
  if (FORBIDDEN.check(address, "ipv6")) return "forbidden";
  const inner = embeddedIpv4(address);
  if (inner !== undefined) return addressKind(inner);
  const machine = isatapIpv4(address);
  if (machine !== undefined && addressKind(machine) !== "public") return addressKind(machine);
  return GLOBAL.check(address, "ipv6") && !SPECIAL.check(address, "ipv6") ? "public" : "local";
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
