/** The order of the command line to the process that replays sessions, as plain JSON. */
import type { ReplayNews } from "@pagurus/replay/replay-job";
import type { ApartNews } from "../engines/apart-job.ts";

/** A bundled engine, one of the configured plugins, or the engines of a plugin at a path. */
export type EngineChoice = {
  /** Its place among the columns. */
  place: number;
} & (
  | { kind: "named"; id: string }
  | { kind: "path"; path: string; plugin: string; entry: Record<string, unknown> }
);

export interface ReplayOrder {
  /** Home of the process. */
  home: string;
  /** Configuration of plugins, the paths of the enabled ones among it. */
  plugins: Record<string, unknown>;
  compaction: unknown;
  engines: readonly EngineChoice[];
  files: readonly string[];
  /** Files that are also replayed with five compactions. */
  compacted: readonly string[];
  window: number;
  most: number;
}

export interface FoundEngine {
  /** Unique among the engines of a replay. */
  key: string;
  id: string;
  place: number;
  /** Path of the plugin, or the name that was asked for. */
  from: string;
}

export type OrderNews = ReplayNews | ({ type: "engine" } & FoundEngine) | ApartNews;
