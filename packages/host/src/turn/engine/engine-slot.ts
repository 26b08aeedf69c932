/**
 * Binds the engine to the host: one instance per agent and configuration, for the life of the process. A missing, failing or
 * foreign-contract engine refuses the run; there is never a switch to `legacy`.
 */
import { ENGINE_CONTRACT } from "@pagurus/contract/version";
import type {
  ContextEngine,
  ContextEngineFactory,
  EngineFactoryContext,
} from "@pagurus/contract/engine/engine";
import { PagurusError } from "@pagurus/contract/errors";
import { nearest } from "@pagurus/core/platform/nearest";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { configuredDeadline, type EngineDeadlines } from "../guard/guard.ts";
import { pluginFailure } from "../guard/plugin-failure.ts";
import { withAcceptedParams } from "./host-params.ts";

export interface EngineSlotOptions {
  /** Id in `plugins.slots.contextEngine`. */
  id: string;
  source: string;
  /** The configuration names it. */
  configured: boolean;
  /** The engine is part of this package. */
  bundled: boolean;
  factory: ContextEngineFactory | undefined;
  /** Registered ids, for the refusal's sentence. */
  known: readonly string[];
  /** Why the plugin that should have registered it failed, if so. */
  failure: string | undefined;
  context: EngineFactoryContext;
  deadlines: EngineDeadlines | undefined;
}

const FACTORY_DEADLINE_MS = 30_000;
const DISPOSE_DEADLINE_MS = 10_000;

export class EngineSlot {
  readonly id: string;
  readonly source: string;
  readonly configured: boolean;
  readonly bundled: boolean;
  /** Sessions whose history this instance has received. */
  readonly bootstrapped = new Set<string>();
  /** Turns that this instance took although their commit could not be written. */
  readonly takenUncommitted = new Set<string>();
  readonly #options: EngineSlotOptions;
  #instance: Promise<ContextEngine> | undefined;

  constructor(options: EngineSlotOptions) {
    this.id = options.id;
    this.source = options.source;
    this.configured = options.configured;
    this.bundled = options.bundled;
    this.#options = options;
  }

  /**
   * The engine; created at the first call. Throws `engine_unknown`, `engine_failed`, `engine_contract`, and `store_write_failed` or
   * `store_read_failed` where the disk fails.
   */
  get(): Promise<ContextEngine> {
    this.#instance ??= this.#create().catch((error: unknown) => {
      this.#instance = undefined;
      throw error;
    });
    return this.#instance;
  }

  async #create(): Promise<ContextEngine> {
    const { id, factory, known, failure, context } = this.#options;
    if (!factory) {
      const why = failure ? ` (${failure})` : "";
      const [near] = nearest(id, known);
      const hint = near === undefined ? "" : ` Did you mean "${near}"?`;
      throw new PagurusError(
        "engine_unknown",
        `The context engine "${id}" is not registered${why}; install its plugin, or set plugins.slots.contextEngine to one of: ${known.join(", ")}.${hint}`,
      );
    }
    let engine: ContextEngine;
    try {
      const ms = configuredDeadline(this.#options.deadlines, "factory") ?? FACTORY_DEADLINE_MS;
      engine = await withDeadline(() => factory(context), { ms, label: `Creating the engine "${id}"` });
    } catch (error) {
      const cause = pluginFailure(error);
      // A failure of the disk or of the database is no fault of the engine, and every other engine meets it too.
      if (cause.code.startsWith("store_")) throw cause;
      const reason = cause.message.replace(/\.$/, "");
      throw new PagurusError(
        "engine_failed",
        `The context engine "${id}" could not be created: ${reason}. Fix or update its plugin, or set plugins.slots.contextEngine to "legacy".`,
        { cause: error },
      );
    }
    checkEngine(id, engine);
    return withAcceptedParams(engine);
  }

  /** Disposes of the instance, if there is one. */
  async dispose(): Promise<void> {
    const instance = this.#instance;
    this.#instance = undefined;
    if (!instance) return;
    const engine = await instance.catch(() => undefined);
    if (engine?.dispose) {
      const ms = configuredDeadline(this.#options.deadlines, "dispose") ?? DISPOSE_DEADLINE_MS;
      await withDeadline(() => engine.dispose?.(), { ms, label: `Disposing of the engine "${this.id}"` });
    }
  }
}

function checkEngine(id: string, engine: ContextEngine): void {
  let wrong: string | undefined;
  try {
    wrong = contractProblem(engine);
  } catch (error) {
    wrong = `reading its members failed (${pluginFailure(error).message})`;
  }
  if (wrong === undefined) return;
  throw new PagurusError(
    "engine_contract",
    `The context engine "${id}" cannot be used: ${wrong}. Update its plugin, or set plugins.slots.contextEngine to "legacy".`,
  );
}

function contractProblem(engine: ContextEngine): string | undefined {
  if (typeof engine !== "object" || engine === null) return "its factory did not return an object";
  if (typeof engine.info !== "object" || engine.info === null || typeof engine.info.id !== "string")
    return "it has no info.id";
  for (const member of ["ingest", "assemble", "compact"] as const) {
    if (typeof engine[member] !== "function") return `it lacks the required member ${member}()`;
  }
  const { contract, transcriptSemantics, hostRequirements } = engine.info;
  for (const [operation, requirement] of Object.entries(hostRequirements ?? {})) {
    if (!Array.isArray(requirement?.requiredCapabilities))
      return `its host requirement for ${operation} has no list of requiredCapabilities`;
  }
  const { currentTurnFence, turnAdvancementIdempotency } = transcriptSemantics ?? {};
  if (currentTurnFence !== undefined && currentTurnFence !== "before-current-turn-entry-v1") {
    return `it asks for the fence ${JSON.stringify(currentTurnFence)}, which this host does not know`;
  }
  if (turnAdvancementIdempotency !== undefined) {
    if (turnAdvancementIdempotency !== "atomic-idempotent-v1")
      return `it asks for the advancement ${JSON.stringify(turnAdvancementIdempotency)}, which this host does not know`;
    if (typeof engine.commitTurn !== "function")
      return "it declares idempotent advancement and lacks commitTurn()";
  }
  if (contract !== undefined && contract !== ENGINE_CONTRACT) {
    return `it was written for the contract ${contract}, this host speaks ${ENGINE_CONTRACT}`;
  }
  return undefined;
}
