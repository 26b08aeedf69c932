import { loadConfig } from "@pagurus/core/config/load-config";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { isPagurusError } from "@pagurus/contract/errors";
import { isConversational } from "@pagurus/core/model/surfaces/known-surfaces";
import { catalogIds, KNOWN_PROVIDERS } from "@pagurus/core/model/model-catalog";
import { describeModel, resolveModel } from "@pagurus/core/model/resolve";

type Env = Readonly<Record<string, string | undefined>>;

/** The models that the user can choose from. Reads the configuration; no network. */
export class ModelList {
  readonly #config: PagurusConfig;
  readonly #env: Env;
  #refs: string[] | undefined;

  constructor(place: { home: string; env: Env }) {
    this.#config = loadConfig({ home: place.home }).config;
    this.#env = place.env;
  }

  /** Refs of the configured models and of catalog models whose provider has a key. */
  refs(): string[] {
    this.#refs ??= this.#usable();
    return this.#refs;
  }

  /** Returns why a ref cannot be used, or what it still lacks. */
  check(ref: string): { problem?: string; warning?: string } {
    try {
      resolveModel(ref, this.#config, this.#env);
      return {};
    } catch (error) {
      if (!isPagurusError(error)) throw error;
      return error.code === "credential_missing" ? { warning: error.message } : { problem: error.message };
    }
  }

  /** Context window of a model, tokens; 0 if unknown. */
  window(ref: string): number {
    try {
      return describeModel(ref, this.#config).contextWindow;
    } catch {
      // A ref that only a plugin's runtime understands.
      return 0;
    }
  }

  #usable(): string[] {
    const configured = Object.entries(this.#config.models?.providers ?? {});
    const refs = [
      ...configured.flatMap(([provider, { models = [] }]) =>
        models.filter((each) => isConversational(provider, each)).map(({ id }) => `${provider}/${id}`),
      ),
      ...Object.keys(KNOWN_PROVIDERS).flatMap((provider) =>
        catalogIds(provider).map((id) => `${provider}/${id}`),
      ),
    ];
    return [...new Set(refs)].filter((ref) => {
      const { problem, warning } = this.check(ref);
      return problem === undefined && warning === undefined;
    });
  }
}
