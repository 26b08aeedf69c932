/** The profile of macOS's sandbox-exec: the same intent as bubblewrap's mounts, as path rules. The last matching rule wins. */
import { isInside } from "@pagurus/core/platform/inside";
import { dirname } from "node:path";
import type { GitMounts } from "./git-mounts.ts";

export interface SeatbeltPlaces {
  root: string;
  /** A temporary folder for commands only. */
  scratch: string;
  /** What commands see of the places of people; absolute, without links. */
  shown: readonly string[];
  /** The user's homes; absolute, without links. */
  empty: readonly string[];
  hidden: readonly string[];
  held: readonly string[];
  git: GitMounts;
  network: "on" | "off";
}

/** Where people, other volumes and other programs keep files. What is not below these is the system's. */
const PEOPLE = [
  "/Users",
  "/Volumes",
  "/Network",
  "/home",
  "/private/var/root",
  "/private/tmp",
  "/private/var/folders",
];

function quoted(path: string): string {
  return path.replaceAll(/["\\]/g, String.raw`\$&`);
}

function places(paths: readonly string[]): string {
  return paths.map((path) => `(subpath "${quoted(path)}")`).join(" ");
}

/** The folders above some paths, without the top one. */
function above(paths: readonly string[]): string[] {
  const found = new Set<string>();
  for (const path of paths) {
    for (let at = dirname(path); dirname(at) !== at; at = dirname(at)) found.add(at);
  }
  return [...found].sort();
}

function rule(effect: string, paths: readonly string[]): string[] {
  return paths.length === 0 ? [] : [`(${effect} ${places(paths)})`];
}

export function seatbeltProfile(given: SeatbeltPlaces): string {
  const { root, scratch, hidden, shown, empty, held, git, network } = given;
  const closed = [...PEOPLE, ...empty];
  const open = [root, scratch, ...shown].filter((path) => closed.some((place) => isInside(place, path)));
  const depth = (path: string): number => path.split("/").length;
  const inner = [
    ...hidden.map((path) => ({ path, line: rule("deny file-read* file-write*", [path]) })),
    ...shown.map((path) => ({ path, line: rule("allow file-read*", [path]) })),
    { path: root, line: rule("allow file-read* file-write*", [root]) },
    { path: scratch, line: rule("allow file-read* file-write*", [scratch]) },
  ].toSorted((a, b) => depth(a.path) - depth(b.path));
  return [
    "(version 1)",
    "(allow default)",
    "(deny file-write*)",
    `(allow file-write* ${places([root, scratch])} (subpath "/dev/fd") (literal "/dev/null") (literal "/dev/zero")`,
    `  (literal "/dev/tty") (literal "/dev/stdout") (literal "/dev/stderr"))`,
    ...rule("deny file-read*", closed),
    // Programs look at the folders above a file to find its real path.
    ...above(open).map((path) => `(allow file-read-metadata (literal "${quoted(path)}"))`),
    // Inner places come later.
    ...inner.flatMap(({ line }) => line),
    ...rule("deny file-write*", [...git.readOnly, ...git.made, ...git.absent]),
    // A moved folder takes its hooks or hidden files along, and another one may replace it.
    ...[...new Set([...held, ...git.fixed])].map(
      (path) => `(deny file-write-unlink (literal "${quoted(path)}"))`,
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
