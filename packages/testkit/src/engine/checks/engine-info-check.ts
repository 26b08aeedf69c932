/** Checks of an engine's `info`. */
import type { ContextEngine, ContextEngineInfo, HostCapability } from "@pagurus/contract/engine/engine";
import { ENGINE_CONTRACT } from "@pagurus/contract/version";
import { isRecord } from "@pagurus/core/data/record-fields";
import { must, onlyIf, shown } from "../../conformance-check.ts";
import type { EngineCheck } from "../engine-check.ts";

const CAPABILITIES: readonly HostCapability[] = [
  "bootstrap",
  "assemble-before-prompt",
  "after-turn",
  "maintain",
  "compact",
  "runtime-llm-complete",
  "thread-bootstrap-projection",
];
const OPERATIONS = ["agent-run", "subagent-spawn", "compaction", "manual-compact"];
const KNOWN_VALUES: Partial<Record<keyof ContextEngineInfo, readonly unknown[]>> = {
  ownsCompaction: [true, false],
  interceptsCompaction: [true, false],
  turnMaintenanceMode: ["foreground", "background"],
  history: ["full", "live"],
  assembleScope: ["call", "turn"],
};
/** Optional members whose absence the host interprets: if present, they must be functions. */
const MEMBERS: readonly (keyof ContextEngine)[] = [
  "bootstrap",
  "ingestBatch",
  "afterTurn",
  "interceptCompaction",
  "maintain",
  "prepareSubagentSpawn",
  "onSubagentEnded",
  "commitTurn",
  "dispose",
];

function mustBeWords(value: unknown, name: string): void {
  must(typeof value === "string" && value.trim() !== "", `${name} is ${shown(value)}; it has to be a text.`);
}

export const infoChecks: readonly EngineCheck[] = [
  {
    id: "info.identity",
    title: "The engine has an id and a name, and a version that is a text if it has one.",
    async run({ stage }) {
      const { info } = (await stage()).engine;
      must(isRecord(info), `info is ${shown(info)}, not an object.`);
      mustBeWords(info.id, "info.id");
      mustBeWords(info.name, "info.name");
      if (info.version !== undefined) mustBeWords(info.version, "info.version");
    },
  },
  {
    id: "info.contract",
    title: "The contract that the engine names is the one that this host speaks.",
    async run({ stage }) {
      const { contract } = (await stage()).engine.info;
      onlyIf(contract !== undefined, "The engine names no contract, which means OpenClaw's.");
      must(contract === ENGINE_CONTRACT, `info.contract is ${shown(contract)}, not ${ENGINE_CONTRACT}.`);
    },
  },
  {
    id: "info.members",
    title: "The members that every engine has are functions, and so are those it may leave out.",
    async run({ stage }) {
      const { engine } = await stage();
      for (const name of ["ingest", "assemble", "compact"] as const)
        must(typeof engine[name] === "function", `${name}() is required, and is ${shown(engine[name])}.`);
      for (const name of MEMBERS) {
        const kind = typeof engine[name];
        must(kind === "function" || kind === "undefined", `${name} is a ${kind}, not a function.`);
      }
    },
  },
  {
    id: "info.values",
    title: "Flags and modes hold values that the contract knows.",
    async run({ stage }) {
      const { info } = (await stage()).engine;
      for (const [name, values] of Object.entries(KNOWN_VALUES)) {
        const value = info[name as keyof ContextEngineInfo];
        must(value === undefined || values.includes(value), `info.${name} is ${shown(value)}.`);
      }
    },
  },
  {
    id: "info.interception",
    title: "Declaring interceptsCompaction and having interceptCompaction() go together.",
    async run({ stage }) {
      const { engine } = await stage();
      const has = typeof engine.interceptCompaction === "function";
      must(
        !engine.info.interceptsCompaction || has,
        "info.interceptsCompaction is true, but there is no interceptCompaction().",
      );
      must(
        !has || engine.info.interceptsCompaction !== undefined,
        "There is an interceptCompaction() that is never called: info.interceptsCompaction is not declared.",
      );
    },
  },
  {
    id: "info.durable",
    title:
      "Declaring transcript semantics and having commitTurn() go together, with values that the contract knows.",
    async run({ stage }) {
      const { engine } = await stage();
      const semantics: unknown = engine.info.transcriptSemantics;
      onlyIf(semantics !== undefined || engine.commitTurn, "The engine is not a durable one.");
      must(engine.commitTurn, "info.transcriptSemantics is declared, but there is no commitTurn().");
      must(
        isRecord(semantics),
        "There is a commitTurn(), but info.transcriptSemantics is not declared; OpenClaw's host would leave the engine out.",
      );
      const { currentTurnFence: fence, turnAdvancementIdempotency: idempotency } = semantics;
      must(
        fence === "before-current-turn-entry-v1",
        `transcriptSemantics.currentTurnFence is ${shown(fence)}.`,
      );
      must(
        idempotency === "atomic-idempotent-v1",
        `transcriptSemantics.turnAdvancementIdempotency is ${shown(idempotency)}.`,
      );
    },
  },
  {
    id: "info.maintenance",
    title: "A maintenance mode is only declared where there is maintenance.",
    async run({ stage }) {
      const { engine } = await stage();
      onlyIf(engine.info.turnMaintenanceMode !== undefined, "The engine declares no maintenance mode.");
      must(engine.maintain, "info.turnMaintenanceMode is declared, but there is no maintain().");
    },
  },
  {
    id: "info.accepted-params",
    title: "The accepted host parameters are a list of names.",
    async run({ stage }) {
      const accepted: unknown = (await stage()).engine.info.acceptedHostParams;
      onlyIf(accepted !== undefined, "The engine takes all parameters.");
      must(Array.isArray(accepted), `info.acceptedHostParams is ${shown(accepted)}, not a list.`);
      for (const name of accepted) mustBeWords(name, "A name in info.acceptedHostParams");
    },
  },
  {
    id: "info.requirements",
    title: "Host requirements name operations and capabilities that exist.",
    async run({ stage }) {
      const requirements: unknown = (await stage()).engine.info.hostRequirements;
      onlyIf(requirements !== undefined, "The engine requires nothing of the host.");
      must(isRecord(requirements), `info.hostRequirements is ${shown(requirements)}, not an object.`);
      for (const [operation, requirement] of Object.entries(requirements)) {
        must(
          OPERATIONS.includes(operation),
          `info.hostRequirements names the operation ${shown(operation)}.`,
        );
        const wanted = isRecord(requirement) ? requirement["requiredCapabilities"] : undefined;
        must(Array.isArray(wanted), `info.hostRequirements.${operation} has no list of capabilities.`);
        const unknown = wanted.find((capability: HostCapability) => !CAPABILITIES.includes(capability));
        must(unknown === undefined, `info.hostRequirements.${operation} asks for ${shown(unknown)}.`);
      }
    },
  },
  {
    id: "info.stable",
    title: "An engine has the same info at any time and in every instance.",
    async run({ stage }) {
      const first = await stage();
      const before = JSON.stringify(first.engine.info);
      await first.take([{ role: "user", content: "A first word." }]);
      await first.assemble({ prompt: "A second word." });
      must(JSON.stringify(first.engine.info) === before, "info was different after a turn.");
      must(JSON.stringify((await stage()).engine.info) === before, "A second instance has another info.");
    },
  },
];
