/**
 * A sandbox for shell commands, where the platform has one: they write in the workspace and in a private temporary folder, see
 * no keys of the home and no other processes, reach no sockets of other programs, and use the network as configured.
 */
import { isInside } from "@pagurus/core/platform/inside";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { attempt } from "@pagurus/core/data/attempt";
import { findProgram } from "@pagurus/core/platform/executables";
import { homesOf } from "@pagurus/core/platform/homes";
import { waitForProgram } from "@pagurus/core/platform/start-program";
import { showsOpenFiles } from "@pagurus/core/platform/open-in-place";
import { bwrapArguments, kernelSettings, type Mounts } from "./bwrap.ts";
import type { ClosedPlaces } from "../places/closed-places.ts";
import { gitMounts, type FoundGit } from "./git-mounts.ts";
import { seatbeltProfile } from "./seatbelt.ts";
import { FILTER_DESCRIPTOR } from "./shell-run.ts";
import { putHarmless, removeClosed, removeHarmless } from "./undo-after.ts";
import { callFilter } from "./call-filter.ts";
import { foldersBetween } from "../places/workspace-boundary.ts";

export interface SandboxReport {
  kind: "bwrap" | "sandbox-exec" | "none";
  /** Sentences for a person: what is enforced, and what is open. */
  detail: string;
  /** Commands have the network although it was to be asked about: this system gives them none of their own. */
  keepsNetwork?: true;
}

export interface Confined {
  /** Command line to start instead. */
  command: string[];
  /** Extra environment variables. */
  env: Record<string, string>;
  /** Bytes that it reads from descriptor `FILTER_DESCRIPTOR`. */
  filter?: Uint8Array | undefined;
  /** Call it when the command has ended: removes closed files that it made and reports them, a sentence each. Never throws. */
  after(): string[];
}

export interface Sandbox {
  readonly report: SandboxReport;
  /**
   * Wraps the command in the sandbox, with the current folders. `git`: repositories that a look at the workspace found. `network`: of this
   * command; default as in the options.
   */
  wrap(command: readonly string[], git?: FoundGit, network?: "on" | "off"): Confined;
}

export interface SandboxOptions {
  setting: "auto" | "off" | "require";
  /** `asked`: off but for commands that say `on`. */
  network: "on" | "off" | "asked";
  /** Absolute, without symbolic links. */
  root: string;
  places: Pick<ClosedPlaces, "closed" | "folders" | "shown" | "hidden">;
  env: Record<string, string | undefined>;
}

const PROBE_TIMEOUT_MS = 5_000;
const CONFINED = "Shell commands can write only in the workspace and in a temporary folder";
const HIDDEN = "they see the workspace, the programs of the system and toolchains, and no other files";
const OPEN_GIT =
  "what a command writes where git, agents, editors or shells look exists until it is held back, within seconds or when the command ends";

/** Limits of the file tools; part of the sandbox report, which is where a person looks. */
function fileWall(): string {
  return showsOpenFiles()
    ? ""
    : " Open: this system does not show where an open file lies, so a program that swaps folders while a tool works can mislead it.";
}

/** Reported in every mode: as root, no permission of the system holds what gets past the other walls. */
function asRoot(): string {
  return process.getuid?.() === 0
    ? " Pagurus runs as root, so that whatever gets past its walls can change the whole system; run it as an ordinary user where you can."
    : "";
}

function none(reason: string): Sandbox {
  return {
    report: {
      kind: "none",
      detail: `Shell commands run without a sandbox: ${reason}.${fileWall()}${asRoot()}`,
    },
    wrap: (command) => ({ command: [...command], env: {}, after: () => [] }),
  };
}

const ASKS_FOR_NETWORK =
  "The permission mode sandbox asks like ask here, since the system gives commands no network of their own.";
const NETWORK_TEXTS = {
  on: "the network is on",
  off: "there is no network",
  asked:
    "there is no network but for a command that asks for it (its argument `network`) or that a rule allows",
};

function works(command: readonly string[], filter: Uint8Array | undefined): boolean {
  const [program = "", ...rest] = command;
  const stdio = ["ignore", "ignore", "ignore", "ignore"] as const;
  if (!filter) return waitForProgram(program, rest, { stdio: [...stdio], timeout: PROBE_TIMEOUT_MS }) === 0;
  const options = { input: filter, stdio: ["pipe", "ignore", "ignore"] as ["pipe", "ignore", "ignore"] };
  return waitForProgram(program, rest, { ...options, timeout: PROBE_TIMEOUT_MS }) === 0;
}

/** Creates missing closed folders of the workspace: only an existing folder can be hidden, and a command could create it. */
function makeClosed(root: string, folders: readonly string[]): void {
  for (const folder of folders) {
    if (folder === root || !isInside(root, folder) || existsSync(folder)) continue;
    // If this process cannot create it, its commands cannot either.
    attempt(() => mkdirSync(folder, { recursive: true, mode: 0o700 }));
  }
}

const NO_GIT: FoundGit = { folders: [], entries: [] };

function mountsOf({ root, places, env }: SandboxOptions, git: FoundGit = NO_GIT): Mounts {
  makeClosed(root, places.folders);
  const hidden = [...places.closed, ...places.hidden];
  const within = hidden.filter((place) => place !== root && isInside(root, place));
  const held = within
    .flatMap((place) => foldersBetween(root, place))
    .filter((folder) => existsSync(folder) && !within.some((place) => isInside(place, folder)));
  return {
    root,
    hidden,
    shown: places.shown,
    empty: homesOf(env).filter((home) => attempt(() => realpathSync.native(home)) === home),
    held: [...new Set(held)],
    git: gitMounts(root, within, git),
  };
}

/** Missing closed files of the workspace: a command could create them, and they are removed after it. */
function missingFiles({ root, places }: SandboxOptions): string[] {
  return places.closed.filter((path) => isInside(root, path) && !existsSync(path));
}

/** What bubblewrap may do on this system. */
interface BwrapForm {
  proc: "own" | "none";
  filter: Uint8Array | undefined;
  /** Settings of the kernel to make read-only. */
  settings: readonly string[];
}

function bwrapLine(
  program: string,
  options: SandboxOptions,
  {
    mounts,
    settings,
    proc,
    filter,
    descriptor,
    network = options.network,
  }: BwrapForm & { mounts: Mounts; descriptor: number; network?: SandboxOptions["network"] | undefined },
): string[] {
  const filterDescriptor = filter && descriptor;
  return [
    program,
    ...bwrapArguments(
      { ...mounts, settings },
      { proc, network: network === "on" ? "on" : "off", filterDescriptor },
    ),
  ];
}

// Kept with the environment of each host, since a tool set is made for each turn and a test starts a process.
const tested = new WeakMap<SandboxOptions["env"], Map<string, BwrapForm>>();

/** The first form that works for this workspace. A failure is not kept. */
function workingForm(program: string, options: SandboxOptions): BwrapForm | undefined {
  const known = tested.get(options.env) ?? new Map<string, BwrapForm>();
  tested.set(options.env, known);
  const key = [program, options.root, options.network].join("\0");
  const last = known.get(key);
  if (last) return last;
  const settings = kernelSettings();
  const mounts = mountsOf(options);
  // In a container a process namespace or a fresh /proc may be forbidden while the rest works.
  for (const proc of ["own", "none"] as const) {
    for (const filter of [callFilter(), undefined]) {
      const form: BwrapForm = { proc, filter, settings };
      if (!works([...bwrapLine(program, options, { ...form, mounts, descriptor: 0 }), "true"], filter))
        continue;
      known.set(key, form);
      return form;
    }
  }
  return undefined;
}

function linuxSandbox(options: SandboxOptions): Sandbox {
  const { file: program, passedOver } = findProgram("bwrap", {
    env: options.env,
    workspaces: [options.root],
  });
  if (program === undefined) {
    const [planted] = passedOver;
    return none(
      planted === undefined
        ? "bubblewrap (bwrap) is not installed"
        : `bubblewrap (bwrap) is only at ${planted}, where commands or other users can write`,
    );
  }
  const found = workingForm(program, options);
  if (found) return bwrapSandbox(program, options, found);
  const open = options.network === "asked" ? { ...options, network: "on" as const } : undefined;
  const withNetwork = open && workingForm(program, open);
  if (!withNetwork) return none("bubblewrap is installed, but the system does not let it make namespaces");
  const { report, wrap } = bwrapSandbox(program, open, withNetwork);
  return {
    report: { ...report, detail: `${report.detail} ${ASKS_FOR_NETWORK}`, keepsNetwork: true },
    wrap: (command, git) => wrap(command, git),
  };
}

function bwrapSandbox(program: string, options: SandboxOptions, found: BwrapForm): Sandbox {
  const { proc, filter } = found;
  const calls = filter ? "; no unix or vsock sockets, no keys of the session, no setuid files" : "";
  const open = [
    OPEN_GIT,
    ...(filter
      ? []
      : ["sockets of other programs and keys of the session can be reached, and setuid files left"]),
    ...(proc === "own" ? [] : ["there is no /proc, so that programs that need it fail"]),
  ];
  const detail = `${CONFINED} that is empty for each; ${HIDDEN}${calls}; ${NETWORK_TEXTS[options.network]} (bubblewrap).`;
  return {
    report: {
      kind: "bwrap",
      detail: `${detail} Open: ${open.join("; ")}.${fileWall()}${asRoot()}`,
    },
    wrap(command, git, network) {
      const mounts = mountsOf(options, git);
      const missing = missingFiles(options);
      const put = putHarmless(mounts.git.absent);
      mounts.git.readOnly.push(...put);
      const after = (): string[] => {
        removeHarmless(put);
        return removeClosed(options.root, missing);
      };
      const around = bwrapLine(program, options, {
        ...found,
        mounts,
        network,
        descriptor: FILTER_DESCRIPTOR,
      });
      return { command: [...around, ...command], env: {}, filter, after };
    },
  };
}

/** Existing paths without links, as rules of sandbox-exec compare them. */
function realPlaces(paths: readonly string[]): string[] {
  return paths.flatMap((path) => attempt(() => realpathSync.native(path)) ?? []);
}

/** A folder for temporary files of commands, removed with the process. */
function scratchFolder(): string {
  const folder = realpathSync.native(mkdtempSync(join(tmpdir(), "pagurus-sandbox-")));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function macSandbox(options: SandboxOptions): Sandbox {
  const program = "/usr/bin/sandbox-exec";
  let scratch: string | undefined;
  const around = (mounts: Mounts, network: SandboxOptions["network"] = options.network): string[] => {
    scratch ??= scratchFolder();
    const shown = realPlaces(mounts.shown);
    const profile = {
      ...mounts,
      shown,
      scratch,
      network: network === "on" ? ("on" as const) : ("off" as const),
    };
    return [program, "-p", seatbeltProfile(profile)];
  };
  if (!works([...around(mountsOf(options)), "/usr/bin/true"], undefined))
    return none("sandbox-exec does not work on this system");
  const open = `Open: services of the system that programs ask without a socket; ${OPEN_GIT}`;
  const detail = `${CONFINED} of their own; ${HIDDEN}; sockets of other programs are out of reach; ${NETWORK_TEXTS[options.network]} (sandbox-exec). ${open}.`;
  return {
    report: { kind: "sandbox-exec", detail: detail + fileWall() + asRoot() },
    wrap(command, git, network) {
      const mounts = mountsOf(options, git);
      const missing = missingFiles(options);
      const after = (): string[] => removeClosed(options.root, missing);
      return { command: [...around(mounts, network), ...command], env: { TMPDIR: scratch ?? "/tmp" }, after };
    },
  };
}

/** Finds and tests a sandbox, which starts a process. Never throws. */
export function createSandbox(options: SandboxOptions): Sandbox {
  if (options.setting === "off") return none("the configuration turns it off");
  if (options.root === "/") return none("the workspace is the whole file system");
  if (process.platform === "linux") return linuxSandbox(options);
  if (process.platform === "darwin") return macSandbox(options);
  return none(`there is none for ${process.platform}`);
}
