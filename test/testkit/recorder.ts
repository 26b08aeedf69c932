/**
 * Records how the host uses the contract while tests run: members called, fields set, answers read. Enabled by
 * `PAGURUS_CONTRACT_RECORD=<folder>`: each process appends JSON lines there, which `npm run contract` reads. Disabled, every
 * function here returns its input.
 *
 * A path is a member, `#` and the index of a parameter or `=` for the answer, then fields; `[]` means the elements of a list:
 * `assemble#0.runtimeContext.model`, `compact=.result.tokensBefore`.
 */
import { appendFileSync } from "node:fs";
import { join, relative } from "node:path";
import * as nodeTest from "node:test";
import type { ContextEngine, EngineFactoryContext } from "../../packages/contract/src/engine/engine.ts";
import type { HookHandler, HookName } from "../../packages/contract/src/host/hooks.ts";
import type { Memory } from "../../packages/contract/src/engine/memory.ts";
import type { PluginApi, PluginRegister } from "../../packages/contract/src/host/plugin.ts";

/** `call`: a function was called. `answer`: it returned. `set`: a value was passed. `read`: a field was read. */
export interface ContractRecord {
  surface: "engine" | "memory" | "hooks";
  event: "call" | "answer" | "set" | "read";
  path: string;
  /** `string`, `AbortSignal`, `list`, … */
  type: string;
  test: string;
  /** File of the host that called, set or read it. */
  by: string;
}

const ROOT = join(import.meta.dirname, "../..");
const VARIABLE = "PAGURUS_CONTRACT_RECORD";
/** Values whose content is outside the contract, or too large to walk. */
const OPAQUE = new Set(
  "config messages message messagesToSummarize turnPrefixMessages branchEntries usage details params outcome".split(
    " ",
  ),
);
/** Functions whose parameters and answers are passed on unrecorded. */
const OPAQUE_CALLS = /\.(tokens|complete)$/;
const DEEPEST = 6;
/** Walking into a value puts frames of this file on the stack. */
const STACK_FRAMES = 60;
const MEMBERS = [
  "bootstrap",
  "ingest",
  "ingestBatch",
  "assemble",
  "afterTurn",
  "compact",
  "interceptCompaction",
  "maintain",
  "prepareSubagentSpawn",
  "onSubagentEnded",
  "commitTurn",
  "status",
  "dispose",
] as const satisfies (keyof ContextEngine)[];

type Direction = "given" | "answered";
type Fields = Record<string, unknown>;
type Work = (...args: never[]) => unknown;

function flip(direction: Direction): Direction {
  return direction === "given" ? "answered" : "given";
}

function isPlain(value: unknown): value is Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  if (typeof value === "object") return value.constructor?.name ?? "object";
  return typeof value;
}

/** Name and file of the running test, if the call comes from one. */
function runningTest(): string {
  const context = (
    nodeTest as { getTestContext?(): { fullName?: string; filePath?: string } | undefined }
  ).getTestContext?.();
  const file = context?.filePath ?? process.argv[1] ?? "";
  return `${relative(ROOT, file)}: ${context?.fullName ?? "(outside a test)"}`;
}

/** The innermost file of the host on the stack. */
function hostFile(): string {
  const usual = Error.stackTraceLimit;
  Error.stackTraceLimit = STACK_FRAMES;
  const lines = (new Error("for its stack").stack ?? "").split("\n");
  Error.stackTraceLimit = usual;
  for (const line of lines) {
    const found = /\/(packages\/(?!contract\/|core\/src\/platform\/)[\w/.-]+\.ts)/.exec(line);
    if (found?.[1]) return found[1];
  }
  return "the host";
}

class Recorder {
  readonly #file: string;
  readonly #surface: ContractRecord["surface"];
  readonly #seen: Set<string>;

  constructor(folder: string, surface: ContractRecord["surface"]) {
    this.#file = join(folder, `${process.pid}.jsonl`);
    this.#surface = surface;
    this.#seen = new Set();
  }

  note(event: ContractRecord["event"], path: string, type: string): void {
    const test = runningTest();
    const key = [event, path, type, test].join(" ");
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    const record: ContractRecord = { surface: this.#surface, event, path, type, test, by: hostFile() };
    appendFileSync(this.#file, `${JSON.stringify(record)}\n`);
  }

  /** Records the argument of a factory. */
  factory(context: object): void {
    this.note("call", "factory", "function");
    this.value("factory#0", context, "given");
  }

  /** A function whose calls, parameters and answers are recorded. `direction`: whose parameters these are. */
  wrap<F extends Work>(path: string, work: F, self: unknown, direction: Direction): F {
    const opaque = OPAQUE_CALLS.test(path);
    const wrapped = (...args: unknown[]): unknown => {
      this.note("call", path, "function");
      const seen = opaque
        ? args
        : args.map((value, index) => this.value(`${path}#${index}`, value, direction));
      const result: unknown = Reflect.apply(work, self, seen);
      const answer = (value: unknown): unknown => {
        this.note("answer", path, typeOf(value));
        return opaque ? value : this.value(`${path}=`, value, flip(direction));
      };
      return result instanceof Promise ? result.then(answer) : answer(result);
    };
    return wrapped as unknown as F;
  }

  /**
   * A value that the host passes : its content is recorded at once. A value that the host gets: a copy
   * whose fields record their reads. Functions in it are wrapped either way.
   */
  value(path: string, value: unknown, direction: Direction, depth = 0, self?: unknown): unknown {
    if (direction === "given" && value !== undefined) this.note("set", path, typeOf(value));
    if (typeof value === "function") return this.wrap(path, value as Work, self, flip(direction));
    if (depth >= DEEPEST) return value;
    if (Array.isArray(value)) return value.map((item) => this.value(`${path}[]`, item, direction, depth + 1));
    if (path.endsWith(".transcript") && typeof value === "object" && value !== null)
      return this.#cursor(path, value);
    if (!isPlain(value)) return value;
    return direction === "given" ? this.#given(path, value, depth) : this.#answered(path, value, depth);
  }

  #given(path: string, value: Fields, depth: number): Fields {
    const copy: Fields = {};
    for (const [name, field] of Object.entries(value)) {
      const at = `${path}.${name}`;
      if (OPAQUE.has(name)) {
        if (field !== undefined) this.note("set", at, typeOf(field));
        copy[name] = field;
      } else copy[name] = this.value(at, field, "given", depth + 1, value);
    }
    return copy;
  }

  /** Getters, so that a copy that the host makes of it is a plain one. */
  #answered(path: string, value: Fields, depth: number): Fields {
    const copy: Fields = {};
    for (const [name, field] of Object.entries(value)) {
      const at = `${path}.${name}`;
      const inner = OPAQUE.has(name) ? field : this.value(at, field, "answered", depth + 1, value);
      Object.defineProperty(copy, name, {
        enumerable: true,
        configurable: true,
        get: () => {
          if (field !== undefined) this.note("read", at, typeOf(field));
          return inner;
        },
      });
    }
    return copy;
  }

  /** Cursors are objects with a state of their own. */
  #cursor(path: string, cursor: object): object {
    return new Proxy(cursor, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function" || typeof name !== "string") return value;
        return (...args: unknown[]): unknown => {
          this.note("call", `${path}.${name}`, "function");
          const result: unknown = Reflect.apply(value as (...args: unknown[]) => unknown, target, args);
          this.note("answer", `${path}.${name}`, typeOf(result));
          return result;
        };
      },
    });
  }
}

function recorder(surface: ContractRecord["surface"]): Recorder | undefined {
  const folder = process.env[VARIABLE];
  return folder === undefined || folder === "" ? undefined : new Recorder(folder, surface);
}

/** The engine, or one that does the same and records; `context` is its factory's argument. */
export function recordEngine(engine: ContextEngine, context?: EngineFactoryContext): ContextEngine {
  const record = recorder("engine");
  if (!record) return engine;
  if (context !== undefined) record.factory(context);
  const recorded: Fields = {};
  // Extra members that tests put on their engines stay accessible.
  for (const name of Object.keys(engine)) recorded[name] = (engine as unknown as Fields)[name];
  for (const name of MEMBERS) {
    const member = engine[name] as Work | undefined;
    if (typeof member === "function") recorded[name] = record.wrap(name, member, engine, "given");
  }
  Object.defineProperty(recorded, "info", {
    enumerable: true,
    get: () => {
      record.note("read", "info", "object");
      return record.value("info", engine.info, "answered");
    },
  });
  return recorded as unknown as ContextEngine;
}

/** The memory, or one that does the same and records; `context` is its factory's argument. */
export function recordMemory(memory: Memory, context?: { workspaceDir: string; config?: unknown }): Memory {
  const record = recorder("memory");
  if (!record) return memory;
  if (context !== undefined) record.factory(context);
  const { id, dispose } = memory;
  return {
    get id() {
      record.note("read", "id", "string");
      return id;
    },
    search: record.wrap("search", memory.search, memory, "given"),
    promptSection: record.wrap("promptSection", memory.promptSection, memory, "given"),
    ...(dispose ? { dispose: record.wrap("dispose", dispose, memory, "given") } : {}),
  };
}

/** The plugin, or one whose hooks, engines and memories are recorded. */
export function recordPlugin(register: PluginRegister): PluginRegister {
  const record = recorder("hooks");
  if (!record) return register;
  return (api) => register(recordedApi(api, record));
}

function recordedApi(api: PluginApi, record: Recorder): PluginApi {
  const changed: Partial<PluginApi> = {
    on: <K extends HookName>(hook: K, handler: HookHandler<K>) =>
      api.on(hook, record.wrap(hook, handler, undefined, "given")),
    registerContextEngine: (id, factory) =>
      api.registerContextEngine(id, async (context) => recordEngine(await factory(context), context)),
    registerMemory: (id, factory) =>
      api.registerMemory(id, async (context) => recordMemory(await factory(context), context)),
  };
  return new Proxy(api, {
    get: (target, name) => {
      const own: unknown = Reflect.get(changed, name);
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value as (...args: unknown[]) => unknown).bind(target) : value;
    },
  });
}
