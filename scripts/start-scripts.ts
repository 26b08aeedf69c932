/**
 * Chunks of the build as scripts, for packages/core/src/platform/start-script.ts: a module stays that imports and exports what the chunk
 * did, beside a file `.script` with a function that has its code.
 */
import type { OutputChunk, Plugin } from "rolldown";
import { parseAst } from "rolldown/parseAst";

/** A chunk with less code than this compiles in less time than reading a second file takes. */
const LEAST_CODE = 20_000;
const LOADER = "core/platform/start-script";

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

/** Statements of a script that take what an import declares from a module of Node.js. */
function takeBuiltin(source: string, specifiers: readonly Node[]): string {
  const module = `process.getBuiltinModule(${JSON.stringify(source)})`;
  return specifiers
    .map(({ type, imported, local }) => {
      const isWhole = type !== "ImportSpecifier" || nameOf(imported) === "default";
      const target = isWhole ? nameOf(local) : pairs([[nameOf(imported), nameOf(local)]]);
      return `const ${target} = ${module};`;
    })
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

/** The module and the script of a chunk. `loader` is the specifier of the module that runs scripts. */
export function asScript(code: string, file: string, loader: string): { module: string; script: string } {
  const program = parseAst(code) as unknown as Node;
  const edits: Edit[] = [];
  const kept: string[] = [];
  const imports: string[] = [];
  let exports: (readonly [key: string, name: string])[] = [];
  for (const node of listed(program["body"])) {
    const { type, start, end } = node;
    if (type === "ImportDeclaration") {
      const source = nameOf(node["source"]);
      const specifiers = listed(node["specifiers"]);
      if (source.startsWith("node:")) {
        edits.push({ start, end, text: takeBuiltin(source, specifiers) });
      } else {
        kept.push(code.slice(start, end));
        imports.push(...specifiers.map(({ local }) => nameOf(local)));
        edits.push({ start, end, text: "" });
      }
    } else if (type === "ExportNamedDeclaration") {
      if (isNode(node["declaration"]) || isNode(node["source"]))
        throw new Error(`${file} exports in a form that scripts/start-scripts.ts does not know.`);
      exports = listed(node["specifiers"]).map((one) => [nameOf(one["exported"]), nameOf(one["local"])]);
      edits.push({ start, end, text: `return ${pairs(exports)};` });
    } else if (type.startsWith("Export")) {
      throw new Error(`${file} exports in a form that scripts/start-scripts.ts does not know.`);
    }
  }
  mustNotChange(program, new Set(exports.map(([, name]) => name)), file);
  visit(program, ({ type, start, end, source }) => {
    if (type === "MetaProperty" && code.slice(start, end) === "import.meta")
      edits.push({ start, end, text: "__meta" });
    if (type === "ImportExpression" && isNode(source))
      edits.push({ start, end: source.start, text: "__load(" });
  });
  const own = exports.map(([key], index) => [key, `e${index}`] as const);
  const module = [
    ...kept,
    `import { startScript } from ${JSON.stringify(loader)};`,
    `const ${pairs(own)} = startScript(import.meta.url, (specifier) => import(specifier), { ${imports.join(", ")} });`,
    `export { ${own.map(([key, name]) => `${name} as ${key}`).join(", ")} };`,
    "",
  ].join("\n");
  const head = `(function (__imported, __url, __load) { "use strict"; const __meta = { url: __url }; const { ${imports.join(", ")} } = __imported;`;
  return { module, script: `${head}\n${edited(code, edits)}\n})\n` };
}

function edited(code: string, edits: readonly Edit[]): string {
  let at = 0;
  let text = "";
  for (const edit of edits.toSorted((left, right) => left.start - right.start)) {
    text += code.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return text + code.slice(at);
}

/** Writes the chunks as scripts that these modules are in, by their files. */
export function startScripts(isStart: (chunk: OutputChunk) => boolean): Plugin {
  return {
    name: "start-scripts",
    generateBundle(_options, bundle) {
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== "chunk" || chunk.isEntry || chunk.code.length < LEAST_CODE || !isStart(chunk))
          continue;
        const { module, script } = asScript(chunk.code, chunk.fileName, `../${LOADER}.js`);
        chunk.code = module;
        this.emitFile({
          type: "asset",
          fileName: chunk.fileName.replace(/\.js$/, ".script"),
          source: script,
        });
      }
    },
  };
}
