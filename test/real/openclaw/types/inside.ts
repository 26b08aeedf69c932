/** The adapter's plugin for OpenClaw by OpenClaw's own types: it takes what they pass, and its answers are ones of theirs. */
import type {
  ClawAssemble,
  ClawCommit,
  ClawCompact,
  ClawCompacted,
  ClawEngine,
  ClawPlace,
} from "../../../../packages/inside/src/openclaw/openclaw-types.ts";
import type { TheirEngine, TheirFactory } from "./openclaw.ts";

type Commit = NonNullable<TheirEngine["commitTurn"]>;
type Compacted = Awaited<ReturnType<TheirEngine["compact"]>>;

export const place = (theirs: Parameters<TheirFactory>[0]): ClawPlace => theirs;
export const assemble = (theirs: Parameters<TheirEngine["assemble"]>[0]): ClawAssemble => theirs;
export const compact = (theirs: Parameters<TheirEngine["compact"]>[0]): ClawCompact => theirs;
export const commit = (theirs: Parameters<Commit>[0]): ClawCommit => theirs;
export const info = (ours: ClawEngine["info"]): TheirEngine["info"] => ours;
export const compacted = (ours: ClawCompacted): Compacted => ours;
export const committed = (ours: Awaited<ReturnType<ClawEngine["commitTurn"]>>): Awaited<ReturnType<Commit>> =>
  ours;
