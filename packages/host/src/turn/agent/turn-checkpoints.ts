/** Checkpoints of the files around each turn, made by a thread beside it; a turn never fails or waits long for them. */
import {
  filesUnchanged,
  NO_CHECKPOINTS,
  type FileRewind,
  type FileRewindRequest,
} from "@pagurus/contract/host/checkpoints";
import { toPagurusError } from "@pagurus/contract/errors";
import type { FolderTrust } from "@pagurus/core/config/folder-trust";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import type { Logger } from "@pagurus/core/platform/log";
import { checkpointBytes, checkpointRoot, hasCheckpoints } from "../../checkpoints/checkpoint-root.ts";
import { CheckpointThread } from "../../checkpoints/checkpoint-thread.ts";
import type { PruneLimits } from "../../checkpoints/prune.ts";
import type { TrackBackground } from "../engine/engine-maintenance.ts";

/** Longest wait of a call for the checkpoint before it, ms. */
const LONGEST_WAIT_MS = 10_000;
/** Limits of the checkpoints of a folder where the configuration has none. */
const MOST_BYTES = 1024 ** 3;
const MOST_DAYS = 30;
const CHILDREN = /(?:\/sub-\d+)+$/u;

interface Options {
  home: string;
  agentId: string;
  env: Record<string, string | undefined>;
  config: PagurusConfig;
  trust: FolderTrust;
  logger: Logger;
  background: TrackBackground;
}

interface TurnPlace {
  cwd: string;
  turnId: string;
  sessionKey: string;
  /** Called with a sentence for the user. */
  onNotice(detail: string): void;
}

/** The checkpoints of one turn. */
export interface TurnCheckpoint {
  /** Resolves when the call may change files; never rejects. */
  ready(callId: string, signal: AbortSignal): Promise<void>;
  /** The runtime has begun a call, by itself unless it waits in `ready`. */
  called(callId: string): void;
  /** The turn changes no file any more. */
  end(): void;
}

const NONE: TurnCheckpoint = {
  ready: () => Promise.resolve(),
  called: () => undefined,
  end: () => undefined,
};

export class TurnCheckpoints {
  readonly #options: Options;
  readonly #thread: CheckpointThread;
  /** Turns that run, by folder and conversation. */
  readonly #running = new Map<string, number>();

  constructor(options: Options) {
    this.#options = options;
    this.#thread = new CheckpointThread(options.home);
  }

  begin({ cwd, turnId, sessionKey, onNotice }: TurnPlace): TurnCheckpoint {
    const root = this.#rootOf(cwd);
    if (root === undefined) return NONE;
    const session = this.#session(sessionKey);
    const place = `${root}\0${session}`;
    const running = this.#running.get(place) ?? 0;
    this.#running.set(place, running + 1);
    const state = { isKept: false, isOver: false };
    // Calls that may have changed files before the checkpoint was complete.
    const early = new Set<string>();
    const long = Promise.withResolvers<void>();
    const work = { name: "begin", turnId, session, isInside: running > 0 } as const;
    const kept = this.#thread.run(root, work, long.resolve).then(
      ({ finished }) => {
        state.isKept = true;
        if (finished !== undefined) onNotice(finished);
      },
      (error: unknown) => this.#failed(error),
    );
    return {
      ready: async (callId, signal) => {
        if (!state.isKept) await firstOf([kept, long.promise], signal);
        if (state.isKept) early.delete(callId);
        else early.add(callId);
      },
      called: (callId) => {
        if (!state.isKept) early.add(callId);
      },
      end: () => {
        if (state.isOver) return;
        state.isOver = true;
        const left = (this.#running.get(place) ?? 1) - 1;
        if (left > 0) this.#running.set(place, left);
        else this.#running.delete(place);
        this.#options.background("checkpoint", async () => {
          await kept;
          if (!state.isKept) return;
          await this.#thread
            .run(root, { name: "end", turnId, isLate: early.size > 0, limits: this.#limits() })
            .catch((error: unknown) => this.#failed(error));
        });
      },
    };
  }

  /** Throws as the checkpoints of a folder. */
  async rewind(
    { to, overwrite, preview }: Pick<FileRewindRequest, "to" | "overwrite" | "preview">,
    { cwd, sessionKey }: { cwd: string; sessionKey: string },
  ): Promise<FileRewind> {
    const found = checkpointRoot(cwd, this.#options.env);
    if ("problem" in found) return filesUnchanged(found.problem);
    if (!hasCheckpoints(this.#options.home, found.root)) return filesUnchanged(NO_CHECKPOINTS);
    const order = { to, overwrite: overwrite === true, preview: preview === true };
    const session = this.#session(sessionKey);
    const { rewind } = await this.#thread.run(found.root, { name: "rewind", session, ...order });
    return rewind ?? filesUnchanged("the checkpoints cannot be read");
  }

  /** Bytes on the disk of the checkpoints of a folder, and of all folders; undefined without any. */
  bytes(cwd: string): { folder: number; all: number } | undefined {
    const { home, env } = this.#options;
    const found = checkpointRoot(cwd, env);
    const sizes = checkpointBytes(home, "root" in found ? found.root : undefined);
    return sizes.all > 0 ? sizes : undefined;
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  /** Undefined where turns make no checkpoints. */
  #rootOf(cwd: string): string | undefined {
    const { config, trust, env } = this.#options;
    if (!(config.checkpoints?.enabled ?? trust.isTrusted(cwd))) return undefined;
    const found = checkpointRoot(cwd, env);
    return "root" in found ? found.root : undefined;
  }

  #limits(): PruneLimits {
    const { maxBytes = MOST_BYTES, keepDays = MOST_DAYS } = this.#options.config.checkpoints ?? {};
    return { maxBytes, keepDays };
  }

  /** Subagents work for the conversation that started them. */
  #session(sessionKey: string): string {
    return `${this.#options.agentId} ${sessionKey.replace(CHILDREN, "")}`;
  }

  #failed(error: unknown): void {
    const { code } = toPagurusError(error);
    this.#options.logger.info("no checkpoint was made", { code });
  }
}

/** Resolves with the first of them, the signal or the longest wait. */
async function firstOf(all: readonly Promise<void>[], signal: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, LONGEST_WAIT_MS);
  const onAbort = (): void => over.resolve();
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) over.resolve();
  await Promise.race([...all, over.promise]);
  clearTimeout(timer);
  signal.removeEventListener("abort", onAbort);
}
