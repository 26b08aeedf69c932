/**
 * What the engine, memory and hook contracts declare, read from their source: a tree of shapes, and a row for every
 * member and field that has to be called, set or read.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { filesUnder } from "./source-files.ts";
import { parseSync } from "@swc/core";

type Node = { type: string; [key: string]: unknown };

type Shape =
  | { kind: "leaf" }
  | { kind: "object"; fields: Map<string, Shape> }
  | { kind: "map"; value: Shape }
  | { kind: "list"; item: Shape }
  | { kind: "function"; params: { name: string; shape: Shape }[]; answer: Shape }
  | { kind: "shared"; name: string };

export type Surface = "engine" | "memory" | "hooks";

/** `call`: the host calls it. `answer`: an engine calls it and gets a result. `set`, `read`: by the host. */
export type Wanted = "call" | "answer" | "set" | "read";

export interface DeclaredRow {
  surface: Surface;
  /** `assemble(params).prompt`, `compact → result.summary`, `RuntimeContext.tokens`. */
  id: string;
  wanted: Wanted;
}

export interface Declared {
  rows: DeclaredRow[];
  /** The row of a recorded path; undefined for what the contract does not declare. */
  locate(surface: Surface, path: string): string | undefined;
}

const FILES = [
  "engine",
  "engine-params",
  "engine-compaction",
  "runtime-context",
  "runtime-settings",
  "memory",
  "hooks",
  "hook-parts",
];
/** The files of the contract that are read here. */
const MORE: Record<string, readonly string[]> = { transcript: ["TranscriptCursor"], model: ["LlmComplete"] };
/** Listed once, not at every member that has them. */
const SHARED = new Map<string, Surface>([
  ["RuntimeContext", "engine"],
  ["RuntimeSettings", "engine"],
  ["HookContext", "hooks"],
]);
const NOTHING = new Set(["undefined", "void", "null"]);
const LEAF: Shape = { kind: "leaf" };

function nodes(value: unknown): Node[] {
  return Array.isArray(value) ? value.filter((item) => isNode(item)) : [];
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}

function text(node: unknown): string {
  return isNode(node) && typeof node["value"] === "string" ? node["value"] : "";
}

/** The type of an annotation, where there is one. */
function annotated(value: unknown): Node | undefined {
  if (!isNode(value)) return undefined;
  return value.type === "TsTypeAnnotation" ? (value["typeAnnotation"] as Node) : value;
}

class Reader {
  readonly #declared = new Map<string, Node>();

  add(file: string, only?: readonly string[]): void {
    const module = parseSync(readFileSync(file, "utf8"), { syntax: "typescript" }) as unknown as Node;
    for (const item of nodes(module["body"])) {
      const declaration = isNode(item["declaration"]) ? item["declaration"] : item;
      const name = text(declaration["id"]);
      if (/^Ts(Interface|TypeAlias)Declaration$/.test(declaration.type) && (!only || only.includes(name)))
        this.#declared.set(name, declaration);
    }
  }

  /** Throws when the contract has no such type: then this script needs an update. */
  named(name: string): Shape {
    const declaration = this.#declared.get(name);
    if (!declaration)
      throw new Error(`The contract declares no ${name}; update scripts/contract-declared.ts.`);
    return this.#declaration(declaration);
  }

  #declaration(node: Node): Shape {
    if (node.type === "TsTypeAliasDeclaration") return this.shape(annotated(node["typeAnnotation"]));
    const fields = new Map<string, Shape>();
    for (const base of nodes(node["extends"])) merge(fields, this.#reference(text(base["expression"]), []));
    const body = node["body"] as Node;
    merge(fields, this.#members(nodes(body["body"])));
    return { kind: "object", fields };
  }

  #members(members: readonly Node[]): Shape {
    const fields = new Map<string, Shape>();
    for (const member of members) {
      const name = text(member["key"]);
      if (member.type === "TsPropertySignature")
        fields.set(name, this.shape(annotated(member["typeAnnotation"])));
      if (member.type === "TsMethodSignature") fields.set(name, this.#function(member, member["typeAnn"]));
    }
    return { kind: "object", fields };
  }

  #function(node: Node, answer: unknown): Shape {
    const params = nodes(node["params"]).map((param) => ({
      name: text(param) || "params",
      shape: this.shape(annotated(param["typeAnnotation"])),
    }));
    return { kind: "function", params, answer: this.shape(annotated(answer)) };
  }

  #reference(name: string, args: readonly Node[]): Shape {
    const [first, second] = args;
    if (name === "Promise" || name === "Partial" || name === "Readonly") return this.shape(first);
    if (name === "Record") return { kind: "map", value: this.shape(second) };
    if (SHARED.has(name)) return { kind: "shared", name };
    const declaration = this.#declared.get(name);
    return declaration ? this.#declaration(declaration) : LEAF;
  }

  shape(node: Node | undefined): Shape {
    switch (node?.type) {
      case "TsTypeReference": {
        const args = node["typeParams"];
        return this.#reference(text(node["typeName"]), isNode(args) ? nodes(args["params"]) : []);
      }
      case "TsTypeLiteral":
        return this.#members(nodes(node["members"]));
      case "TsFunctionType":
        return this.#function(node, node["typeAnnotation"]);
      case "TsArrayType":
        return { kind: "list", item: this.shape(node["elemType"] as Node) };
      case "TsTypeOperator":
      case "TsParenthesizedType":
        return this.shape(annotated(node["typeAnnotation"]));
      case "TsUnionType":
      case "TsIntersectionType":
        return this.#together(nodes(node["types"]));
      default:
        return LEAF;
    }
  }

  /** Parts of a union are alternatives: their fields are listed together. */
  #together(types: readonly Node[]): Shape {
    const parts = types
      .filter((part) => !(part.type === "TsKeywordType" && NOTHING.has(String(part["kind"]))))
      .map((part) => this.shape(part));
    const [only] = parts;
    if (parts.length === 1 && only) return only;
    const fields = new Map<string, Shape>();
    for (const part of parts) merge(fields, part);
    return fields.size === 0 ? LEAF : { kind: "object", fields };
  }
}

function merge(fields: Map<string, Shape>, shape: Shape): void {
  if (shape.kind !== "object") return;
  for (const [name, field] of shape.fields) fields.set(name, field);
}

type Direction = "passed" | "answered";

function flip(direction: Direction): Direction {
  return direction === "passed" ? "answered" : "passed";
}

/** Rows of everything below a shape. `direction`: who passes it, the host (`passed`) or the engine (`answered`). */
function rowsOf(surface: Surface, id: string, shape: Shape, direction: Direction): DeclaredRow[] {
  const row = (at: string, wanted: Wanted): DeclaredRow => ({ surface, id: at, wanted });
  switch (shape.kind) {
    case "object":
      return [...shape.fields].flatMap(([name, field]) => {
        const at = fieldId(id, name);
        const own: Wanted = direction === "passed" ? "set" : "read";
        const rows = rowsOf(surface, at, field, direction);
        return field.kind === "function" ? rows : [row(at, own), ...rows];
      });
    case "map":
      return rowsOf(surface, `${id}.*`, shape.value, direction);
    case "list":
      return rowsOf(surface, `${id}[]`, shape.item, direction);
    case "function":
      return [
        row(id, direction === "passed" ? "answer" : "call"),
        ...shape.params.flatMap((param) => {
          const at = `${id}(${param.name})`;
          const own = direction === "answered" && param.shape.kind === "leaf" ? [row(at, "set")] : [];
          return [...own, ...rowsOf(surface, at, param.shape, flip(direction))];
        }),
        ...rowsOf(surface, `${id} →`, shape.answer, direction),
      ];
    default:
      return [];
  }
}

function fieldId(id: string, name: string): string {
  if (id === "") return name;
  return id.endsWith("→") ? `${id} ${name}` : `${id}.${name}`;
}

function hooks(reader: Reader): Shape {
  const map = reader.named("HookMap");
  if (map.kind !== "object") return map;
  const fields = new Map<string, Shape>();
  for (const [name, hook] of map.fields) {
    if (hook.kind !== "object") continue;
    const params = [
      { name: "payload", shape: hook.fields.get("payload") ?? LEAF },
      { name: "context", shape: { kind: "shared" as const, name: "HookContext" } },
    ];
    fields.set(name, { kind: "function", params, answer: hook.fields.get("result") ?? LEAF });
  }
  return { kind: "object", fields };
}

function withFactory(shape: Shape, factory: Shape): Shape {
  const fields = new Map<string, Shape>([["factory", factory]]);
  merge(fields, shape);
  return { kind: "object", fields };
}

/** A factory returns the engine itself, which has its own rows. */
function factoryOf(reader: Reader, name: string): Shape {
  const shape = reader.named(name);
  return shape.kind === "function" ? { ...shape, answer: LEAF } : shape;
}

export function declaredContract(root: string): Declared {
  const reader = new Reader();
  const files = filesUnder(root, "packages/contract/src", ".ts");
  const path = (name: string): string =>
    join(root, files.find((file) => file.endsWith(`/${name}.ts`)) ?? `packages/contract/src/${name}.ts`);
  for (const name of FILES) reader.add(path(name));
  for (const [name, only] of Object.entries(MORE)) reader.add(path(name), only);
  const roots: Record<Surface, Shape> = {
    engine: withFactory(reader.named("ContextEngine"), factoryOf(reader, "ContextEngineFactory")),
    memory: withFactory(reader.named("Memory"), factoryOf(reader, "MemoryFactory")),
    hooks: hooks(reader),
  };
  const surfaces: Surface[] = ["engine", "memory", "hooks"];
  const rows = surfaces.flatMap((surface) => rowsOf(surface, "", roots[surface], "answered"));
  for (const [name, surface] of SHARED) rows.push(...rowsOf(surface, name, reader.named(name), "passed"));
  return {
    rows,
    locate: (surface, recorded) => locate(recorded, roots[surface], (name) => reader.named(name)),
  };
}

/** Follows a recorded path through the shapes; see `test/testkit/recorder.ts` for its form. */
function locate(recorded: string, root: Shape, named: (name: string) => Shape): string | undefined {
  let shape = root;
  let id = "";
  for (const [step] of recorded.matchAll(/#\d+|=|\[\]|[^.#=[\]]+/g)) {
    if (shape.kind === "shared") {
      id = shape.name;
      shape = named(shape.name);
    }
    if (step.startsWith("#") && shape.kind === "function") {
      const param: { name: string; shape: Shape } | undefined = shape.params[Number(step.slice(1))];
      if (!param) return undefined;
      id = `${id}(${param.name})`;
      shape = param.shape;
    } else if (step === "=" && shape.kind === "function") {
      id = `${id} →`;
      shape = shape.answer;
    } else if (step === "[]" && shape.kind === "list") {
      id = `${id}[]`;
      shape = shape.item;
    } else if (shape.kind === "map") {
      id = `${id}.*`;
      shape = shape.value;
    } else if (shape.kind === "object") {
      const field: Shape | undefined = shape.fields.get(step);
      if (!field) return undefined;
      id = fieldId(id, step);
      shape = field;
    } else return undefined;
  }
  return id;
}
