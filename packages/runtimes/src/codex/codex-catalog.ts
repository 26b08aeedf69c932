/**
 * The model catalog that disables Codex's own compaction: Codex's catalog with only windows and limit raised, and the model
 * in use in it. No other switch works for every model. Source: facts of the app-server, sections 6 and 9.
 */
import { codexVariables } from "@pagurus/core/native/own-variables";
import { childEnvironment } from "@pagurus/core/platform/child-environment";
import { outputOf } from "@pagurus/core/platform/start-program";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { ensurePrivateDir, writeFileAtomic } from "@pagurus/core/platform/atomic-files";

/** A window that no context reaches, tokens. */
const NO_WINDOW = 100_000_000;
const NO_LIMIT = 90_000_000;
const READ_DEADLINE_MS = 20_000;
const MOST_BYTES = 64 * 1024 * 1024;

/** Settings in addition to the catalog, since the user's own would override it. */
export const NO_COMPACTION = { model_context_window: NO_WINDOW, model_auto_compact_token_limit: NO_LIMIT };

interface Entry extends Record<string, unknown> {
  slug: string;
  use_responses_lite?: boolean;
}

interface Catalog {
  models: Entry[];
}

function isCatalog(value: unknown): value is Catalog {
  const models = (value as Partial<Catalog> | null)?.models;
  return Array.isArray(models) && models.length > 0 && models.every(({ slug }) => typeof slug === "string");
}

/** Entry for a model that Codex does not know, copied from one that speaks the plain protocol. */
function unknownModelEntry(id: string, models: readonly Entry[]): Entry {
  const plain = models.find((entry) => entry.use_responses_lite === false) ?? models[0];
  return {
    ...plain,
    slug: id,
    display_name: id,
    visibility: "hide",
    priority: 99,
    upgrade: null,
    use_responses_lite: false,
    additional_speed_tiers: [],
    service_tiers: [],
  };
}

/** The catalog with raised windows and `modelId` in it. */
function raised(catalog: Catalog, modelId: string): Catalog {
  const known = catalog.models.some(({ slug }) => slug === modelId);
  const models = known ? catalog.models : [...catalog.models, unknownModelEntry(modelId, catalog.models)];
  return {
    ...catalog,
    models: models.map((entry) => ({
      ...entry,
      context_window: NO_WINDOW,
      max_context_window: NO_WINDOW,
      auto_compact_token_limit: NO_LIMIT,
    })),
  };
}

export interface CatalogSource {
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
}

export class CatalogFiles {
  readonly #folder: string;
  readonly #source: () => CatalogSource;
  #own: Promise<Catalog> | undefined;
  /** By model: a catalog is most of a megabyte and does not change while the host runs. */
  readonly #files = new Map<string, string>();

  /** `folder` is the host's: it gets one file for each model and version. */
  constructor(folder: string, source: () => CatalogSource) {
    this.#folder = folder;
    this.#source = source;
  }

  /** Path of the catalog for a model. Throws `runtime_failed`. */
  async file(modelId: string): Promise<string> {
    const made = this.#files.get(modelId);
    if (made !== undefined && existsSync(made)) return made;
    this.#own ??= this.#read();
    const text = JSON.stringify(raised(await this.#own, modelId));
    const name = createHash("sha256").update(text).digest("hex").slice(0, 16);
    const file = join(this.#folder, `models-${name}.json`);
    if (!existsSync(file)) {
      ensurePrivateDir(this.#folder);
      writeFileAtomic(file, text);
    }
    this.#files.set(modelId, file);
    return file;
  }

  async #read(): Promise<Catalog> {
    const { command, args, env } = this.#source();
    try {
      const stdout = await outputOf(command, [...args, "debug", "models"], {
        env: childEnvironment(env, codexVariables(env)),
        timeout: READ_DEADLINE_MS,
        maxBuffer: MOST_BYTES,
      });
      const catalog: unknown = JSON.parse(stdout);
      if (isCatalog(catalog)) return catalog;
    } catch (error) {
      this.#own = undefined;
      throw unreadable(error);
    }
    throw unreadable(undefined);
  }
}

function unreadable(cause: unknown): PagurusError {
  return new PagurusError(
    "runtime_failed",
    "Codex does not list its model catalog (`codex debug models`), so its own compaction cannot be disabled; update Codex.",
    { cause },
  );
}
