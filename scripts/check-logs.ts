/**
 * House check: a log line has ids, counts, durations and codes, never content or secrets. Syntactic, over `src/`:
 * checks the names in the arguments of a call on something called `log` or `logger`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "@swc/core";
import { sourceFiles } from "./source-files.ts";

export interface LogFinding {
  /** Relative to the root. */
  file: string;
  line: number;
  what: string;
}

/** Runs inside other programs, which have no log of ours. */
const PRINTS_INSIDE = "packages/inside/src/node/node-place.ts";

type Node = { type: string; span?: { start: number; end: number }; [key: string]: unknown };

const LEVELS = new Set(["trace", "debug", "info", "warn", "error", "fatal"]);

/** Last words of names whose values are content or secrets. */
const FORBIDDEN = new Set(
  (
    "prompt prompts content contents text texts message messages system arguments args argv params header headers " +
    "body summary output input inputs chunk chunks delta snippet instruction instructions data payload transcript " +
    "stdout stderr secret secrets password token authorization cookie cookies credential credentials apikey bearer"
  ).split(" "),
);
/** Words that make a name ending in `key` harmless. */
const HARMLESS_KEYS = new Set(["session", "config", "advancement", "idempotency", "cache"]);
/** Calls that turn content into a number or a hash. */
const REDUCERS =
  /(count|hash|length|size|bytes?|tokens|estimate|fingerprint|indexOf|includes|startsWith|endsWith)$/i;
const COMPARISONS = new Set(["==", "===", "!=", "!==", "<", "<=", ">", ">=", "in", "instanceof"]);

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}

function child(node: Node, key: string): Node | undefined {
  const value = node[key];
  return isNode(value) ? value : undefined;
}

function children(node: Node, key: string): Node[] {
  const value = node[key];
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** The name of an identifier, a property, a private property or a string used as one. */
function nameOf(node: Node | undefined): string | undefined {
  const value = node?.["value"];
  return typeof value === "string" ? value : undefined;
}

export function isForbiddenName(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
  const last = words.at(-1);
  if (last === undefined) return false;
  if (last === "key") return words.length === 1 || !HARMLESS_KEYS.has(words.at(-2) ?? "");
  return FORBIDDEN.has(last);
}

const INNER: Record<string, string> = {
  TsAsExpression: "expression",
  TsSatisfiesExpression: "expression",
  TsNonNullExpression: "expression",
  TsConstAssertion: "expression",
  ParenthesisExpression: "expression",
  AwaitExpression: "argument",
  OptionalChainingExpression: "base",
};

function unwrap(node: Node | undefined): Node | undefined {
  let inner = node;
  while (inner && INNER[inner.type] !== undefined) inner = child(inner, INNER[inner.type] ?? "");
  return inner;
}

/** Phrases for the parts of `node`'s value that must not be logged. */
function leaks(node: Node | undefined): string[] {
  const value = unwrap(node);
  if (!value) return [];
  switch (value.type) {
    case "StringLiteral":
    case "NumericLiteral":
    case "BooleanLiteral":
    case "NullLiteral":
      return [];
    case "Identifier":
      return named(nameOf(value));
    case "MemberExpression":
      return memberLeaks(value);
    case "CallExpression":
      return callLeaks(value);
    case "ObjectExpression":
      return children(value, "properties").flatMap(propertyLeaks);
    case "ArrayExpression":
      return listed(value, "elements").flatMap(leaks);
    case "TemplateLiteral":
      return children(value, "expressions").flatMap(leaks);
    case "ConditionalExpression":
      return [...leaks(child(value, "consequent")), ...leaks(child(value, "alternate"))];
    case "BinaryExpression":
      if (COMPARISONS.has(String(value["operator"]))) return [];
      return [...leaks(child(value, "left")), ...leaks(child(value, "right"))];
    case "UnaryExpression":
      return [];
    default:
      return [`a ${value.type}, which this check cannot judge; pass a plain field`];
  }
}

function named(name: string | undefined): string[] {
  return name !== undefined && isForbiddenName(name) ? [`\`${name}\``] : [];
}

function memberLeaks(value: Node): string[] {
  const property = child(value, "property");
  if (property?.type === "Computed") {
    const key = child(property, "expression");
    return key?.type === "StringLiteral" ? named(nameOf(key)) : leaks(child(value, "object"));
  }
  return named(nameOf(property));
}

function callLeaks(value: Node): string[] {
  const callee = unwrap(child(value, "callee"));
  const method = callee?.type === "MemberExpression" ? nameOf(child(callee, "property")) : nameOf(callee);
  if (method !== undefined && REDUCERS.test(method)) return [];
  const of = callee?.type === "MemberExpression" ? leaks(child(callee, "object")) : [];
  return [...of, ...listed(value, "arguments").flatMap(leaks)];
}

/** Arguments and array elements: swc wraps each as `{spread, expression}`. */
function listed(node: Node, key: string): Node[] {
  const value = node[key];
  if (!Array.isArray(value)) return [];
  return value.map((item: { expression?: unknown } | null) => item?.expression).filter(isNode);
}

function propertyLeaks(property: Node): string[] {
  if (property.type === "SpreadElement") return leaks(child(property, "arguments"));
  if (property.type === "Identifier") return named(nameOf(property));
  if (property.type !== "KeyValueProperty") return [`a ${property.type}, which this check cannot judge`];
  return [...named(nameOf(child(property, "key"))), ...leaks(child(property, "value"))];
}

/** True for `log`, `this.#log`, `options.logger`, `engineLog`, `api.logger.child({…})`. */
function isLogger(node: Node | undefined): boolean {
  const value = unwrap(node);
  if (value?.type === "CallExpression") {
    const callee = unwrap(child(value, "callee"));
    return (
      nameOf(callee && child(callee, "property")) === "child" && isLogger(callee && child(callee, "object"))
    );
  }
  const name = value?.type === "MemberExpression" ? nameOf(child(value, "property")) : nameOf(value);
  return name !== undefined && /^(log|logger)$|(Log|Logger)$/.test(name);
}

/** `console`, `process.stdout` or `process.stderr`, where `node` is one. */
function printer(node: Node): string | undefined {
  if (node.type === "Identifier") return nameOf(node) === "console" ? "console" : undefined;
  const stream = nameOf(child(node, "property"));
  const ofProcess =
    nameOf(child(node, "object")) === "process" && (stream === "stdout" || stream === "stderr");
  return ofProcess ? `process.${stream}` : undefined;
}

function isLiteral(node: Node): boolean {
  return node.type === "StringLiteral" || node.type === "TemplateLiteral";
}

/** Initial values by the name of the variable; of every variable with that name, whatever its scope. */
type Constants = Map<string, Node[]>;

function judgeCall(call: Node, outsideCli: boolean, constants: Constants): string[] {
  const callee = unwrap(child(call, "callee"));
  if (callee?.type !== "MemberExpression") return [];
  const object = unwrap(child(callee, "object"));
  const method = nameOf(child(callee, "property")) ?? "";
  const printed = outsideCli && object ? printer(object) : undefined;
  if (printed) return [`${printed}.${method} outside packages/cli/src; use the logger or an event`];
  if (!isLogger(object)) return [];
  const args = listed(call, "arguments");
  if (method === "child") return args.flatMap(leaks).map((leak) => `a log line would hold ${leak}`);
  if (!LEVELS.has(method)) return [];
  const [first, ...fields] = args;
  const text = unwrap(first);
  const found = fields.flatMap(leaks);
  const written =
    text?.type === "Identifier" ? (constants.get(nameOf(text) ?? "") ?? []) : text ? [text] : [];
  if (written.length === 0 || !written.every(isLiteral)) found.push("a message that is not a literal");
  else found.push(...written.flatMap(leaks));
  return found.map((leak) => `a log line would hold ${leak}`);
}

function walk(value: unknown, type: string, visit: (node: Node) => void): void {
  if (Array.isArray(value)) {
    for (const item of value) walk(item, type, visit);
  } else if (typeof value === "object" && value !== null) {
    if ((value as Node).type === type) visit(value as Node);
    for (const part of Object.values(value)) walk(part, type, visit);
  }
}

function constantsOf(program: unknown): Constants {
  const constants: Constants = new Map();
  walk(program, "VariableDeclarator", (declarator) => {
    const name = nameOf(child(declarator, "id"));
    const value = unwrap(child(declarator, "init")) ?? declarator;
    if (name !== undefined) constants.set(name, [...(constants.get(name) ?? []), value]);
  });
  return constants;
}

/** Findings in one file's source. Throws what the parser throws. */
export function checkLogsIn(file: string, source: string): LogFinding[] {
  const bytes = Buffer.from(source, "utf8");
  const findings: LogFinding[] = [];
  const outsideCli = !file.startsWith("packages/cli/src/") && file !== PRINTS_INSIDE;
  const program = parseSync(source, { syntax: "typescript", target: "es2024" });
  const constants = constantsOf(program);
  walk(program, "CallExpression", (call) => {
    // Spans count bytes from 1.
    const line = bytes
      .subarray(0, (call.span?.start ?? 1) - 1)
      .toString("utf8")
      .split("\n").length;
    for (const what of judgeCall(call, outsideCli, constants)) findings.push({ file, line, what });
  });
  return findings;
}

export function checkLogs(root: string): LogFinding[] {
  return sourceFiles(root).flatMap((file) => checkLogsIn(file, readFileSync(join(root, file), "utf8")));
}
