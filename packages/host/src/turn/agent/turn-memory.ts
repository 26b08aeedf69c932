/**
 * Binds the memory of `plugins.slots.memory` to a turn. A missing or failing memory leaves the turn without memory and is reported; it
 * never refuses a run. Source: context-engine page, "Relationship to compaction and memory".
 */
import { defined } from "@pagurus/core/data/defined";
import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { CitationsMode, Memory, MemoryFactory, MemoryHit } from "@pagurus/contract/engine/memory";
import type { ToolOutcome } from "@pagurus/contract/harness/tool";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { MEMORY_SEARCH } from "../../plugin/engine-frame.ts";
import { failedOutcome, textOutcome } from "../../tool/host-tool.ts";
import type { ExtraTool } from "../../tool/toolset.ts";
import type { Guard } from "../guard/guard.ts";

const DEFAULT_MEMORY = "files";
/** Names of the built-in memory in other hosts' configurations. */
const ALIASES: Record<string, string> = { "memory-core": DEFAULT_MEMORY };

const FACTORY_DEADLINE_MS = 10_000;
const PROMPT_DEADLINE_MS = 5_000;
const SEARCH_DEADLINE_MS = 15_000;
const DISPOSE_DEADLINE_MS = 10_000;
const DEFAULT_HITS = 6;
const MOST_MEMORY_HITS = 20;
/** Characters of one hit's text that a model is shown. */
const HIT_CHARS = 2_000;

/** Id of the configured memory; undefined when the slot is `none`. */
export function selectedMemory(config: PagurusConfig): string | undefined {
  const id = config.plugins?.slots?.memory ?? DEFAULT_MEMORY;
  return id === "none" ? undefined : (ALIASES[id] ?? id);
}

export function citationsMode({ config }: { config: PagurusConfig }): CitationsMode {
  return config.memory?.citations ?? "auto";
}

export interface MemorySlotOptions {
  /** From `selectedMemory`; undefined: no memory. */
  id: string | undefined;
  factory: MemoryFactory | undefined;
  /** Why the plugin that should have registered it failed, if so. */
  failure?: string | undefined;
  config?: unknown;
}

export class MemorySlot {
  /** Undefined: the slot is off. */
  readonly id: string | undefined;
  readonly #options: MemorySlotOptions;
  readonly #instances = new Map<string, Promise<Memory>>();

  constructor(options: MemorySlotOptions) {
    this.id = options.id;
    this.#options = options;
  }

  /**
   * The memory of a workspace, created at the first call; undefined when the slot is off. Throws a sentence for a memory that is unknown or
   * cannot be created; the next call retries.
   */
  async get(workspaceDir: string): Promise<Memory | undefined> {
    if (this.id === undefined) return undefined;
    const known = this.#instances.get(workspaceDir);
    if (known) return await known;
    const made = this.#create(this.id, workspaceDir);
    this.#instances.set(workspaceDir, made);
    try {
      return await made;
    } catch (error) {
      if (this.#instances.get(workspaceDir) === made) this.#instances.delete(workspaceDir);
      throw error;
    }
  }

  async #create(id: string, workspaceDir: string): Promise<Memory> {
    const { factory, failure, config } = this.#options;
    if (!factory) {
      const why = failure === undefined ? "" : ` (${failure})`;
      throw new PagurusError(
        "plugin_unknown",
        `The memory "${id}" is not registered${why}; install its plugin, or set plugins.slots.memory to "${DEFAULT_MEMORY}" or "none".`,
      );
    }
    const memory = await withDeadline(() => factory({ workspaceDir, config }), {
      ms: FACTORY_DEADLINE_MS,
      label: `Creating the memory "${id}"`,
    });
    if (typeof memory?.search === "function" && typeof memory.promptSection === "function") return memory;
    throw new PagurusError(
      "plugin_failed",
      `The memory "${id}" lacks search() or promptSection(); update its plugin.`,
    );
  }

  /** Disposes of the instances. Throws the first failure after all were tried. */
  async dispose(): Promise<void> {
    const instances = [...this.#instances.values()];
    this.#instances.clear();
    const ended = await Promise.allSettled(
      instances.map(async (instance) => {
        const memory = await instance.catch(() => undefined);
        if (!memory?.dispose) return;
        await withDeadline(() => memory.dispose?.(), {
          ms: DISPOSE_DEADLINE_MS,
          label: `Disposing of the memory "${this.id ?? ""}"`,
        });
      }),
    );
    const failed = ended.find((end) => end.status === "rejected");
    if (failed) throw toPagurusError(failed.reason);
  }
}

export interface MemoryTurn {
  /** Lines of the prompt's memory section; empty when there is nothing to remember. */
  sections: string[];
  /** `memory_search`; absent without sections. */
  tool?: ExtraTool;
}

export interface MemoryTurnInput {
  slot: MemorySlot;
  cwd: string;
  guard: Guard;
  /** Names of the turn's other tools. */
  availableTools: Iterable<string>;
  citations?: CitationsMode | undefined;
  signal?: AbortSignal | undefined;
  /** Default: the machine's. */
  clock?: Clock | undefined;
}

/** The memory's contribution to a turn. Never throws: a failure is a degradation and a turn without memory. */
export async function memoryForTurn(input: MemoryTurnInput): Promise<MemoryTurn> {
  const { slot, cwd, guard, citations, signal, clock = SYSTEM_CLOCK } = input;
  const others = new Set(input.availableTools);
  try {
    const memory = await slot.get(cwd);
    if (!memory) return { sections: [] };
    const sections = await withDeadline(
      () =>
        memory.promptSection({
          availableTools: new Set([...others, MEMORY_SEARCH]),
          ...defined({ citationsMode: citations }),
        }),
      { ms: PROMPT_DEADLINE_MS, label: `The memory "${slot.id}" at its prompt section`, signal, clock },
    );
    if (!Array.isArray(sections) || sections.some((section) => typeof section !== "string")) {
      throw new PagurusError(
        "plugin_failed",
        `The memory "${slot.id}" returned a prompt section that is no list of texts.`,
      );
    }
    if (sections.every((section) => section.trim() === "")) return { sections: [] };
    // A plugin with a tool of this name does the search itself.
    return { sections: [...sections], ...(!others.has(MEMORY_SEARCH) && { tool: searchTool(memory) }) };
  } catch (error) {
    if (!signal?.aborted) guard.degrade("memory", toPagurusError(error).message);
    return { sections: [] };
  }
}

function searchTool(memory: Memory): ExtraTool {
  return {
    name: MEMORY_SEARCH,
    description: "Search the notes kept from earlier work. Gives passages with path and line, best first.",
    parameters: {
      type: "object",
      properties: {
        query: { type: "string", description: "Words to look for." },
        limit: {
          type: "integer",
          minimum: 1,
          maximum: MOST_MEMORY_HITS,
          description: `Most passages; default ${DEFAULT_HITS}.`,
        },
      },
      required: ["query"],
      additionalProperties: false,
    },
    readOnly: true,
    execute: async (params, { signal }) => await search(memory, params, signal),
  };
}

async function search(
  memory: Memory,
  params: Record<string, unknown>,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const { query: asked } = params as { query?: unknown };
  const query = typeof asked === "string" ? asked.trim() : "";
  if (query === "") return failedOutcome("The query is empty; give words to look for.");
  const wanted = Number(params["limit"] ?? DEFAULT_HITS);
  const limit = Math.min(MOST_MEMORY_HITS, Math.max(1, Math.trunc(wanted) || DEFAULT_HITS));
  let hits: MemoryHit[];
  try {
    hits = await withDeadline((stop) => memory.search(query, { limit, signal: stop }), {
      ms: SEARCH_DEADLINE_MS,
      label: "The search",
      signal,
    });
    if (!Array.isArray(hits) || !hits.every(isHit))
      throw new PagurusError("plugin_failed", "It gave no list of passages.");
  } catch (error) {
    if (signal.aborted) throw error;
    return failedOutcome(`The memory could not be searched: ${toPagurusError(error).message}`);
  }
  if (hits.length === 0) return textOutcome("Nothing in memory matches. Try other words.", { hits: 0 });
  // Best first, whatever order the memory returns; equal scores keep their order.
  const shown = hits.toSorted((left, right) => (right.score || 0) - (left.score || 0)).slice(0, limit);
  const text = shown.map(({ path, line, text: passage }) => `${path}:${line}\n${cut(passage)}`);
  return textOutcome(text.join("\n\n"), { hits: shown.length });
}

function isHit(hit: Partial<MemoryHit> | null): boolean {
  return typeof hit?.path === "string" && typeof hit.line === "number" && typeof hit.text === "string";
}

function cut(text: string): string {
  return text.length > HIT_CHARS ? `${text.slice(0, HIT_CHARS)}…` : text;
}
