/** The profile of macOS's sandbox-exec: the same intent as bubblewrap's mounts, as path rules. The last matching rule wins. */
import type { GitMounts } from "./git-mounts.ts";

export interface SeatbeltPlaces {
  root: string;
  /** A temporary folder for commands only. */
  scratch: string;
  hidden: readonly string[];
  shown: readonly string[];
  held: readonly string[];
  git: GitMounts;
  network: "on" | "off";
}

function places(paths: readonly string[]): string {
  return paths.map((path) => `(subpath "${path.replaceAll(/["\\]/g, String.raw`\$&`)}")`).join(" ");
}

function rule(effect: string, paths: readonly string[]): string[] {
  return paths.length === 0 ? [] : [`(${effect} ${places(paths)})`];
}

export function seatbeltProfile(given: SeatbeltPlaces): string {
  const { root, scratch, hidden, shown, held, git, network } = given;
  return [
    "(version 1)",
    "(allow default)",
    "(deny file-write*)",
    `(allow file-write* ${places([root, scratch])} (subpath "/dev/fd") (literal "/dev/null") (literal "/dev/zero")`,
    `  (literal "/dev/tty") (literal "/dev/stdout") (literal "/dev/stderr"))`,
    ...rule("deny file-read* file-write*", hidden),
    ...rule("allow file-read*", shown),
    // A workspace inside a hidden place is open; a hidden place inside the workspace is not.
    ...rule("allow file-read* file-write*", hidden.some((path) => root.startsWith(`${path}/`)) ? [root] : []),
    ...rule("deny file-write*", [
      ...git.readOnly,
      ...git.made,
      ...git.absent,
      ...git.links.map(({ path }) => path),
    ]),
    // A moved folder takes its hooks or hidden files along, and another one may replace it.
    ...[...new Set([...held, ...git.fixed])].map(
      (path) => `(deny file-write-unlink (literal "${path.replaceAll(/["\\]/g, String.raw`\$&`)}"))`,
    ),
    // Sockets of other programs; one is needed to resolve host names.
    "(deny network-outbound (remote unix-socket))",
    `(allow network-outbound (literal "/private/var/run/mDNSResponder"))`,
    ...(network === "off" ? ["(deny network*)"] : []),
    "(deny appleevent-send)",
    "(deny job-creation)",
    "(deny process-info* (target others))",
  ].join("\n");
}
