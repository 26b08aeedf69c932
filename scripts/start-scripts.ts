/**
 * Chunks of the build as scripts, for packages/core/src/platform/start-script.ts: a module stays that imports and exports what the chunk
 * did, beside a file `.script` with a function that has its code.
 */
import { posix } from "node:path";
import type { OutputBundle, OutputChunk, Plugin } from "rolldown";
import { parseAst } from "rolldown/parseAst";

/** A chunk with less code than this compiles in less time than reading a second file takes. */
const LEAST_CODE = 20_000;
const LOADER = "/core/src/platform/start-script.ts";

/** A chunk without code of its own, which an `import()` names: its names, and those under which another chunk exports them. */
interface Alias {
  /** File of that other chunk. */
  target: string;
  names: readonly (readonly [name: string, key: string])[];
}

/** A node of the syntax tree. */
interface Node {
  type: string;
  start: number;
  end: number;
  [field: string]: unknown;
}

interface Edit {
  start: number;
  end: number;
  text: string;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}

function visit(node: Node, each: (node: Node) => void): void {
  each(node);
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, each);
}

/** The name of an identifier, or the text of a string that is used as one. */
function nameOf(node: unknown): string {
  const { name, value } = node as { name?: string; value?: string };
  return name ?? value ?? "";
}

function listed(value: unknown): Node[] {
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** `{ a, b: c }` as a pattern or an object. */
function pairs(names: readonly (readonly [key: string, name: string])[]): string {
  return `{ ${names.map(([key, name]) => (key === name ? key : `${JSON.stringify(key)}: ${name}`)).join(", ")} }`;
}

/** Statements that take what an import declares from a module of Node.js. */
function takeBuiltin(source: string, specifiers: readonly Node[]): string {
  const isPart = ({ type, imported }: Node) => type === "ImportSpecifier" && nameOf(imported) !== "default";
  const parts = specifiers
    .filter(isPart)
    .map(({ imported, local }) => [nameOf(imported), nameOf(local)] as const);
  const wholes = specifiers.filter((one) => !isPart(one)).map(({ local }) => nameOf(local));
  const targets = [...wholes, ...(parts.length > 0 ? [pairs(parts)] : [])];
  return targets
    .map((target) => `const ${target} = process.getBuiltinModule(${JSON.stringify(source)});`)
    .join(" ");
}

/** Throws for an exported variable that the code assigns to: the module exports the value that it has at the end of the script. */
function mustNotChange(program: Node, exports: ReadonlySet<string>, file: string): void {
  const variables = listed(program["body"]).filter(
    ({ type, kind }) => type === "VariableDeclaration" && kind !== "const",
  );
  const names = variables.flatMap(({ declarations }) => listed(declarations).map(({ id }) => nameOf(id)));
  const exported = new Set(names.filter((name) => exports.has(name)));
  visit(program, ({ type, left, argument }) => {
    const target =
      type === "AssignmentExpression" ? left : type === "UpdateExpression" ? argument : undefined;
    if (isNode(target) && target.type === "Identifier" && exported.has(nameOf(target)))
      throw new Error(
        `${file} assigns to ${nameOf(target)}, which it exports; export a function that returns it.`,
      );
  });
}

/** What a chunk imports, exports and loads, as its text can be changed. */
class Chunk {
  readonly edits: Edit[] = [];
  readonly exports: (readonly [key: string, name: string])[] = [];
  readonly #file: string;
  readonly #code: string;
  readonly #program: Node;

  constructor(file: string, code: string) {
    this.#file = file;
    this.#code = code;
    this.#program = parseAst(code) as unknown as Node;
    for (const node of this.#statements("ExportNamedDeclaration")) {
      if (isNode(node["declaration"]) || isNode(node["source"])) throw this.#unknown();
      for (const { exported, local } of listed(node["specifiers"]))
        this.exports.push([nameOf(exported), nameOf(local)]);
    }
  }

  #statements(kind: string): Node[] {
    return listed(this.#program["body"]).filter(({ type }) => type === kind);
  }

  #unknown(): Error {
    return new Error(`${this.#file} exports in a form that scripts/start-scripts.ts does not know.`);
  }

  /** Imports of Node.js become statements; returns the others. */
  takeBuiltins(): { start: number; end: number; names: string[] }[] {
    const others = [];
    for (const { start, end, source, specifiers } of this.#statements("ImportDeclaration")) {
      const from = nameOf(source);
      if (from.startsWith("node:"))
        this.edits.push({ start, end, text: takeBuiltin(from, listed(specifiers)) });
      else others.push({ start, end, names: listed(specifiers).map(({ local }) => nameOf(local)) });
    }
    return others;
  }

  /** Has an `import()` of an alias load the other chunk itself. `load` is what an `import` is called here. */
  loadDirectly(aliases: ReadonlyMap<string, Alias>, load: string): void {
    visit(this.#program, ({ type, start, end, source }) => {
      if (type !== "ImportExpression" || !isNode(source)) return;
      const place = posix.join(posix.dirname(this.#file), nameOf(source));
      const alias = aliases.get(place);
      if (alias === undefined) {
        this.edits.push({ start, end: source.start, text: `${load}(` });
      } else {
        const relative = posix.relative(posix.dirname(this.#file), alias.target);
        const path = JSON.stringify(relative.startsWith(".") ? relative : `./${relative}`);
        const all = alias.target === this.#file ? "Promise.resolve(__own)" : `${load}(${path})`;
        const taken = alias.names.map(([name, key]) => [name, `all[${JSON.stringify(key)}]`] as const);
        this.edits.push({ start, end, text: `${all}.then((all) => (${pairs(taken)}))` });
      }
    });
  }

  /** Changes what only a module may contain to what a function may. */
  leaveModule(): void {
    if (this.#statements("ExportAllDeclaration").length > 0) throw this.#unknown();
    if (this.#statements("ExportDefaultDeclaration").length > 0) throw this.#unknown();
    mustNotChange(this.#program, new Set(this.exports.map(([, name]) => name)), this.#file);
    for (const { start, end } of this.#statements("ExportNamedDeclaration"))
      this.edits.push({ start, end, text: `const __own = ${pairs(this.exports)};\nreturn __own;` });
    visit(this.#program, ({ type, start, end }) => {
      if (type === "MetaProperty" && this.#code.slice(start, end) === "import.meta")
        this.edits.push({ start, end, text: "__meta" });
    });
  }

  get text(): string {
    let at = 0;
    let text = "";
    for (const edit of this.edits.toSorted((left, right) => left.start - right.start)) {
      text += this.#code.slice(at, edit.start) + edit.text;
      at = edit.end;
    }
    return text + this.#code.slice(at);
  }
}

/** The module and the script of a chunk. `loader` is an import of the function that runs scripts. */
export function asScript(
  code: string,
  file: string,
  loader: string,
  aliases: ReadonlyMap<string, Alias> = new Map(),
): { module: string; script: string } {
  const chunk = new Chunk(file, code);
  const others = chunk.takeBuiltins();
  const imports = `{ ${others.flatMap(({ names }) => names).join(", ")} }`;
  chunk.edits.push(...others.map(({ start, end }) => ({ start, end, text: "" })));
  chunk.leaveModule();
  chunk.loadDirectly(aliases, "__load");
  const own = chunk.exports.map(([key], index) => [key, `e${index}`] as const);
  const module = [
    ...others.map(({ start, end }) => code.slice(start, end)),
    loader,
    `const ${pairs(own)} = startScript(import.meta.url, (specifier) => import(specifier), ${imports});`,
    `export { ${own.map(([key, name]) => `${name} as ${key}`).join(", ")} };`,
    "",
  ].join("\n");
  const head = `(function (__imported, __url, __load) { "use strict"; const __meta = { url: __url }; const ${imports} = __imported;`;
  return { module, script: `${head}\n${chunk.text}\n})\n` };
}

/** The chunk as a module that takes what it needs of Node.js without the module's own exports, which cost more than they give. */
function asModule(code: string, file: string, aliases: ReadonlyMap<string, Alias>): string {
  const chunk = new Chunk(file, code);
  chunk.takeBuiltins();
  chunk.loadDirectly(aliases, "import");
  return chunk.text;
}

/** Chunks that only export what one other chunk has, by their files. */
function aliasesIn(bundle: OutputBundle): Map<string, Alias> {
  const aliases = new Map<string, Alias>();
  for (const one of Object.values(bundle)) {
    if (one.type !== "chunk" || one.isEntry || Object.keys(one.modules).length > 0) continue;
    const [, keys, target, names] =
      /^import \{ (.*) \} from "\.\/([^"]+)";\s+export \{ (.*) \};\s*$/.exec(one.code) ?? [];
    if (keys === undefined || target === undefined || names === undefined) continue;
    const keyOf = new Map(
      keys.split(", ").map((pair) => pair.split(" as ").toReversed() as [string, string]),
    );
    const taken = names.split(", ").map((name) => [name, keyOf.get(name)] as const);
    if (taken.some(([name, key]) => key === undefined || name.includes(" "))) continue;
    aliases.set(one.fileName, {
      target: posix.join(posix.dirname(one.fileName), target),
      names: taken.map(([name, key]) => [name, key ?? name]),
    });
  }
  return aliases;
}

/** The import of the function that runs scripts, from its chunk. */
function loaderOf(chunks: readonly OutputChunk[]): string {
  const chunk = chunks.find(({ modules }) => Object.keys(modules).some((id) => id.endsWith(LOADER)));
  const { exports } = new Chunk("loader", chunk?.code ?? "");
  const key = exports.find(([, name]) => name === "startScript")?.[0];
  if (chunk === undefined || key === undefined) throw new Error("The loader of scripts was not built.");
  return `import { ${key} as startScript } from "./${posix.basename(chunk.fileName)}";`;
}

/** Writes these chunks as scripts, and has them and their entry load as few files as possible. */
export function startScripts(isStart: (chunk: OutputChunk) => boolean): Plugin {
  return {
    name: "start-scripts",
    generateBundle(_options, bundle) {
      const chunks = Object.values(bundle).filter((one) => one.type === "chunk");
      const start = chunks.filter(isStart);
      if (start.length === 0) return;
      const aliases = aliasesIn(bundle);
      const loader = loaderOf(chunks);
      for (const chunk of start) {
        if (chunk.code.length < LEAST_CODE) {
          chunk.code = asModule(chunk.code, chunk.fileName, aliases);
          continue;
        }
        const { module, script } = asScript(chunk.code, chunk.fileName, loader, aliases);
        chunk.code = module;
        const fileName = chunk.fileName.replace(/\.js$/, ".script");
        this.emitFile({ type: "asset", fileName, source: script });
      }
    },
  };
}
