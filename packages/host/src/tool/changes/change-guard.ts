/**
 * Guards the workspace around each command: looks at it before, every few seconds and after, moves what the check finds to the held
 * area, and says so. A workspace that is too large to look at gets no commands.
 */
import { join } from "node:path";
import { pathFolders } from "@pagurus/core/platform/executables";
import { mayHideParts } from "../places/shown-places.ts";
import { REASONS } from "../places/start-places.ts";
import { filesNamedByUser, gitSettingsOfUser } from "../places/user-places.ts";
import { ToolError } from "../tool-error.ts";
import { findingsOf, type Finding } from "./change-check.ts";
import { holdBack, takeHeld, type HeldRecord } from "./held-area.ts";
import { readPlace } from "./place-content.ts";
import {
  forPerson,
  LIMITS,
  lookAt,
  toBytes,
  type Limits,
  type Manifest,
  type ManifestOptions,
} from "./manifest.ts";

export interface ChangeGuardOptions {
  /** Absolute, without links. */
  root: string;
  /** Home of Pagurus. */
  home: string;
  /** Places that commands cannot reach; absolute. */
  closed: readonly string[];
  env: Record<string, string | undefined>;
  /** Whether a rule of the user names this place for the tool `write`; absolute path. */
  isAllowed(path: string): boolean;
  limits?: Limits | undefined;
  /** The last look, shared with later tool sets of the same folder. */
  cache: ManifestCache;
}

/** The last look at each workspace, which may not have ended yet. */
export type ManifestCache = Map<string, Promise<Manifest>>;

export interface Held {
  record: HeldRecord;
  /** One sentence for each place, the first 20 of them. */
  sentences: string[];
  /** Beginnings of the held files, for a question. */
  preview: string;
}

export interface GuardedCommand {
  /** Repositories before the command; absolute paths. */
  readonly before: { folders: readonly string[]; entries: readonly string[] };
  /** Ends the looks while the command runs, looks a last time, and returns what is held back. Never throws. */
  end(): Promise<Held[]>;
}

export interface ChangeGuard {
  /** Looks at the workspace before a command. Throws `ToolError` when it is too large to check. */
  start(command: string): Promise<GuardedCommand>;
}

/** Time between two looks while a command runs, ms. */
const LOOK_EVERY_MS = 2_000;
/** Limits of a look ahead of the first command, which may not come: about half a second of work. */
const AHEAD: Limits = { ...LIMITS, folders: 8_000, places: 5_000 };
const MOST_NAMED_PLACES = 20;
/** Rounds of looking and moving when a command made more than one look can hold. */
const MOST_ROUNDS = 50;

function sentencesOf({ id, places }: HeldRecord): string[] {
  const named = places.slice(0, MOST_NAMED_PLACES).map(({ shown, kind, restored, problem, remains }) => {
    const why = REASONS[kind];
    if (remains === true)
      return `the command's "${shown}" could not be removed (${problem ?? "unknown"}), and must be before anything starts here: ${why}`;
    const old = restored ? "; its old content is back" : "";
    if (problem !== undefined)
      return `the command's "${shown}" was removed, since it could not be kept (${problem})${old}: ${why}`;
    return `the command's "${shown}" was held back${old}: ${why}`;
  });
  const more = places.length - named.length;
  return [
    ...named,
    ...(more > 0 ? [`and ${more} more places`] : []),
    `to take this over, the user runs \`pagurus held take ${id}\`; do not try another way`,
  ];
}

const PREVIEWED = 10;
const PREVIEW_CHARACTERS = 400;

function previewOf(home: string, { id, places }: HeldRecord): string {
  return places
    .slice(0, PREVIEWED)
    .map(({ shown, file }) => {
      const path = join(home, "held", id, file ?? "");
      const text = file === undefined ? undefined : readPlace(toBytes(path))?.toString("utf8");
      return text === undefined ? shown : `${shown}:\n${text.slice(0, PREVIEW_CHARACTERS)}`;
    })
    .join("\n");
}

function repositoriesIn({ gitFolders, placed }: Manifest): GuardedCommand["before"] {
  const entries = [...placed].filter(([path, { kind }]) => kind === "git-entry" && path.endsWith("/.git"));
  return { folders: gitFolders.map(forPerson), entries: entries.map(([path]) => forPerson(path)) };
}

class Guarded implements GuardedCommand {
  readonly before: GuardedCommand["before"];
  readonly #first: Manifest;
  readonly #options: ChangeGuardOptions;
  readonly #look: ManifestOptions;
  readonly #command: string;
  readonly #held: Held[] = [];
  #last: Manifest;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();

  constructor(options: ChangeGuardOptions, look: ManifestOptions, before: Manifest, command: string) {
    this.#options = options;
    this.#look = look;
    this.#first = before;
    this.before = repositoriesIn(before);
    this.#last = before;
    this.#command = command;
    this.#later();
  }

  async end(): Promise<Held[]> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#looking;
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      // What a look leaves out for its limits is found by the next one.
      if (!(await this.#check(() => true))) break;
    }
    this.#options.cache.set(this.#options.root, Promise.resolve(this.#last));
    return this.#held;
  }

  #later(): void {
    this.#timer = setTimeout(() => {
      // Programs and scripts of a package are still in use: an installation runs what it has just written.
      this.#looking = this.#check(({ kind }) => kind !== "program" && kind !== "package").then(() => {
        if (this.#timer) this.#later();
      });
    }, LOOK_EVERY_MS);
    this.#timer.unref();
  }

  /** Returns whether another look is needed. */
  async #check(applies: (finding: Finding) => boolean): Promise<boolean> {
    const { root, home, isAllowed } = this.#options;
    this.#last = await lookAt(this.#look, this.#last);
    const findings = findingsOf(toBytes(root), this.#first, this.#last, (path) =>
      isAllowed(forPerson(path)),
    ).filter(applies);
    if (findings.length === 0) return this.#last.full;
    const record = holdBack(home, { root, command: this.#command }, findings);
    this.#held.push({ record, sentences: sentencesOf(record), preview: previewOf(home, record) });
    return true;
  }
}

function lookOf({
  root,
  closed,
  env,
  limits,
}: Pick<ChangeGuardOptions, "root" | "closed" | "env" | "limits">): ManifestOptions {
  const programs = pathFolders(env["PATH"]);
  return {
    root,
    closed,
    programs,
    settings: gitSettingsOfUser(env),
    named: filesNamedByUser(root, env),
    limits,
  };
}

/**
 * Lists the workspace before the first command, while the model still works: the look before the command then compares only the times
 * of folders. Does nothing if there was a look already, or if parts of the workspace may be hidden.
 */
export function lookAhead({
  cache,
  ...at
}: Pick<ChangeGuardOptions, "root" | "closed" | "env" | "cache">): void {
  if (cache.has(at.root) || mayHideParts(at.root, at.env)) return;
  cache.set(at.root, lookAt(lookOf({ ...at, limits: AHEAD })));
}

export function createChangeGuard(options: ChangeGuardOptions): ChangeGuard {
  const { root, cache } = options;
  return {
    async start(command) {
      const look = lookOf(options);
      const before = await lookAt(look, await cache.get(root));
      cache.set(root, Promise.resolve(before));
      if (before.full)
        throw new ToolError(
          `The workspace has more folders, or more files that programs start from, than can be checked after a command (${before.folders.size} folders, ${before.placed.size} files), so that no command is run. Work in a folder below it.`,
        );
      return new Guarded(options, look, before, command);
    },
  };
}

/** Moves what was held back to its place after all, when the user wants it. Returns sentences for what could not be moved. */
export function takeBack(home: string, held: readonly Held[]): string[] {
  return held.flatMap(({ record }) => takeHeld(home, record));
}
