/** Converts the settings of lossless-claw (0.15 and 1.0) to those of the engine `lossless`; docs/guides/from-openclaw.md. */
import type { KeyPath } from "@pagurus/core/config/key-path";
import type { ConfigDraft } from "./config-draft.ts";

const THEIRS = "lossless-claw";
const LOSSLESS = "lossless";
const ENTRIES: KeyPath = ["plugins", "entries"];
const ENGINE_SLOT: KeyPath = ["plugins", "slots", "contextEngine"];
const COMPACTION_PATH: KeyPath = ["agents", "defaults", "compaction"];

const SHAPE = "the shape of the summary is the engine's own; headTokens limits all of it";
const STEPS = "summaries are made in the background, one part after the other, without rounds";
const BUDGET = "a failed summary is retried later, and its messages stay readable meanwhile";
const FILES = "no file of the host is rewritten or moved";
const RECALL = "recall pages through the original text; no other agent or model is used";
const OLD = "it has had no effect in lossless-claw either";
const ALWAYS_KEPT = "everything is kept and indexed at first sight, without a limit";
const NO_PLACE = "agents.defaults.compaction is not an object, so there is no place for it";
const LARGE_PAYLOADS = "large payloads are kept in the store and shown in pages";

/** Reasons for keys without a counterpart; other keys are taken, or unknown. */
const WITHOUT: Readonly<Record<string, string>> = {
  enabled: "the slot alone selects the engine",
  hostFallbackMode: "a runtime that cannot keep the engine's contract is refused with a message",
  contextThreshold:
    "the trigger is a number of tokens here; its default is measured, and a model's budget makes it less",
  contextThresholdOverrides: "there is one trigger; a model's budget lowers it",
  sweepMaxDepth: STEPS,
  incrementalMaxDepth: STEPS,
  freshTailCount: "the kept tail is counted in tokens (tailTokens), not in messages",
  promptAwareEviction: "nothing is evicted: messages that leave the context are in the summary",
  stubLargeToolPayloads: LARGE_PAYLOADS,
  leafChunkTokens: SHAPE,
  leafTargetTokens: SHAPE,
  condensedTargetTokens: SHAPE,
  leafMinFanout: SHAPE,
  condensedMinFanout: SHAPE,
  condensedMinFanoutHard: SHAPE,
  maxSweepIterations: STEPS,
  sweepDeadlineMs: STEPS,
  compactUntilUnderDeadlineMs: STEPS,
  bootstrapMaxTokens: ALWAYS_KEPT,
  newSessionRetainDepth: "a new conversation starts empty; the earlier one is found by search",
  maxExpandTokens: RECALL,
  dbPath: "each agent has a store of its own, made from its transcripts",
  databasePath: "each agent has a store of its own, made from its transcripts",
  largeFilesDir: LARGE_PAYLOADS,
  skipStatelessSessions: "a stateless session never stores anything",
  largeFileThresholdTokens: LARGE_PAYLOADS,
  largeFileTokenThreshold: LARGE_PAYLOADS,
  largeFileSummaryModel: LARGE_PAYLOADS,
  largeFileSummaryProvider: LARGE_PAYLOADS,
  expansionModel: RECALL,
  expansionProvider: RECALL,
  delegationTimeoutMs: RECALL,
  summaryTimeoutMs:
    "agents.defaults.compaction.timeoutSeconds limits a compaction, summaries have their own limit",
  summarySpendBackoffMs: BUDGET,
  maxAssemblyTokenBudget: "a model's context window is its budget",
  summaryMaxOverageFactor: BUDGET,
  fallbackMaxTokens: "nothing is truncated instead of summarized",
  circuitBreakerThreshold: BUDGET,
  circuitBreakerCooldownMs: BUDGET,
  replayFloodThresholdExternal: "the host gives each entry an id: nothing is replayed",
  replayFloodThresholdInternal: "the host gives each entry an id: nothing is replayed",
  cacheAwareCompaction: OLD,
  dynamicLeafChunkTokens: OLD,
  timezone: "times are in UTC",
  pruneHeartbeatOk: "a heartbeat that finds nothing is always left out",
  transcriptGcEnabled: FILES,
  autoRotateSessionFiles: FILES,
  enableSummaryThinking: "a summary is requested without thinking",
  proactiveThresholdCompactionMode: STEPS,
  independentLogFile: "there is one log, ~/.pagurus/logs",
  fallbackProviders:
    "one model makes the summaries; where it fails, they are extracted from the original text",
  stripInjectedContextTags:
    "what the host injects is an entry of its own and never counted as the user's text",
};

/** Converts the slot, and the engine's own settings. */
export function takeLossless(draft: ConfigDraft): void {
  const entry: KeyPath = [...ENTRIES, THEIRS];
  const off =
    draft.at([...entry, "enabled"]) === false ||
    draft.at(["plugins", "enabled"]) === false ||
    deniedThere(draft);
  if (draft.at(ENGINE_SLOT) === THEIRS) {
    if (off) draft.drop(ENGINE_SLOT, "the plugin in the slot is disabled there, so the engine was legacy");
    else
      draft.set(ENGINE_SLOT, LOSSLESS, {
        path: "plugins.slots.contextEngine",
        as: `"${LOSSLESS}" (was "${THEIRS}")`,
      });
  }
  if (draft.at(entry) === undefined) return;
  if (off) return void draft.drop(entry, "the plugin is disabled there");
  if (draft.at([...ENTRIES, LOSSLESS]) !== undefined)
    return void draft.drop(entry, "there is an entry of lossless already");
  draft.rename(entry, LOSSLESS);
  takeSettings(draft, [...ENTRIES, LOSSLESS, "config"]);
}

function deniedThere(draft: ConfigDraft): boolean {
  const deny = draft.at(["plugins", "deny"]);
  return Array.isArray(deny) && deny.includes(THEIRS);
}

function takeSettings(draft: ConfigDraft, at: KeyPath): void {
  const number = (key: string): number | undefined => {
    const value = draft.at([...at, key]);
    return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined;
  };
  takeModel(draft, at);
  takeTrigger(draft, at, number("maxAssemblyTokenBudget"), number("contextThreshold"));
  takeRate(draft, at, number("summaryMaxCallsPerWindow"), number("summaryCallWindowMs"));
  takeInstructions(draft, at);
  for (const [theirs, ours] of [
    ["ignoreSessionPatterns", "ignoreSessions"],
    ["statelessSessionPatterns", "statelessSessions"],
    ["freshTailMaxTokens", "tailTokens"],
    ["summaryPrefixTargetTokens", "headTokens"],
  ] as const)
    if (draft.at([...at, theirs]) !== undefined) draft.rename([...at, theirs], ours);
  for (const key of draft.keys(at)) {
    const why = Object.hasOwn(WITHOUT, key) ? WITHOUT[key] : undefined;
    if (why !== undefined) draft.drop([...at, key], why);
  }
}

/** The model of the summaries is an agent setting here. */
function takeModel(draft: ConfigDraft, at: KeyPath): void {
  const model = draft.at([...at, "summaryModel"]);
  const provider = draft.at([...at, "summaryProvider"]);
  const to: KeyPath = [...COMPACTION_PATH, "model"];
  if (typeof model === "string" && model !== "") {
    const named = typeof provider === "string" && provider !== "" && !model.startsWith(`${provider}/`);
    const ref = named ? `${provider}/${model}` : model;
    if (!draft.takes(to)) draft.drop([...at, "summaryModel"], NO_PLACE);
    else if (draft.at(to) !== undefined)
      draft.drop(
        [...at, "summaryModel"],
        "agents.defaults.compaction.model names the model of summaries already",
      );
    else if (!ref.includes("/"))
      draft.drop([...at, "summaryModel"], "it names no provider; set agents.defaults.compaction.model");
    else draft.moved([...at, "summaryModel"], to, ref);
  } else if (model !== undefined) draft.drop([...at, "summaryModel"], "it names no model");
  if (provider !== undefined) {
    if (typeof model === "string" && model !== "") draft.forget([...at, "summaryProvider"]);
    else draft.drop([...at, "summaryProvider"], "without a model it means the session's");
  }
}

/** Converts the threshold to a number of tokens, if the budget was a number. */
function takeTrigger(draft: ConfigDraft, at: KeyPath, budget?: number, share = 0.75): void {
  if (budget === undefined || share > 1) return;
  draft.rename([...at, "maxAssemblyTokenBudget"], "trigger", Math.max(1, Math.floor(budget * share)));
}

function takeRate(draft: ConfigDraft, at: KeyPath, calls?: number, windowMs = 600_000): void {
  const path = [...at, "summaryMaxCallsPerWindow"];
  if (calls !== undefined) draft.rename(path, "summariesPerHour", Math.ceil((calls * 3_600_000) / windowMs));
  draft.forget([...at, "summaryCallWindowMs"]);
}

function takeInstructions(draft: ConfigDraft, at: KeyPath): void {
  const path = [...at, "customInstructions"];
  const text = draft.at(path);
  if (text === undefined) return;
  const to: KeyPath = [...COMPACTION_PATH, "customInstructions"];
  if (typeof text !== "string" || text === "") return void draft.drop(path, "it is not a text");
  if (!draft.takes(to)) return void draft.drop(path, NO_PLACE);
  if (draft.at(to) !== undefined)
    return void draft.drop(path, "agents.defaults.compaction.customInstructions is there already");
  draft.moved(path, to, text);
}
