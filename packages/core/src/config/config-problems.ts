/** Checks a parsed configuration: problems, warnings, and values that are ignored. */
import type * as zod from "zod";
import { formatKeyPath, valueAt } from "./key-path.ts";
import { keysAt, proposal } from "./known-keys.ts";
import { DEFAULT_AGENT_ID } from "./agent-settings.ts";
import { AGENT_ID_PATTERN } from "./config-paths.ts";
import { configSchema } from "./config-schema.ts";

type Issue = zod.core.$ZodIssue;

export interface CheckResult {
  /** One sentence each; a configuration with one cannot be used. */
  problems: string[];
  /** One sentence each; warnings never refuse a run. */
  warnings: string[];
  /** Paths of keys and list elements, in order, that are ignored, each with a warning. */
  ignored: (string | number)[][];
}

/**
 * Values that are valid in OpenClaw's configurations and have no meaning here. They must not refuse a run, so `up` steps above
 * the value are ignored: without its protocol a provider is unusable.
 */
const SET_ASIDE: readonly { at: RegExp; up: number; why: string }[] = [
  { at: /^models\.providers\.[^.]+\.api$/, up: 1, why: "the provider is not used" },
  { at: /^models\.providers\.[^.]+\.apiKey$/, up: 1, why: "the provider is not used" },
  { at: /^models\.providers\.[^.]+\.models\.\d+\.input\.\d+$/, up: 0, why: "this kind is not used" },
  { at: /\.agentRuntime\.fallback$/, up: 0, why: "the default applies, embedded" },
  { at: /\.models\.[^.]+\.alias$/, up: 0, why: "the alias is not used, since it looks like a model ref" },
  { at: /^logging\.level$/, up: 0, why: "the level stays info" },
];

/**
 * Checks a configuration; loads the schema library. Sentences contain key paths and never a value that could be a
 * secret.
 */
export function checkConfig(value: unknown): CheckResult {
  const result: CheckResult = { problems: [], warnings: [], ignored: [] };
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    result.problems.push(`The configuration must be an object, but is ${describeValue(value)}.`);
    return result;
  }
  const schema = configSchema();
  const parsed = schema.safeParse(value, { reportInput: false });
  const keysOf = (path: readonly PropertyKey[]): string[] => keysAt(schema, path);
  const exampleOf = (path: readonly PropertyKey[]): string =>
    exampleAt(path, {
      root: value,
      keys: keysOf(path),
      isFine: (changed) => fitsSchema(schema, changed, path),
    });
  for (const issue of parsed.error?.issues ?? [])
    takeIssue({ result, root: value, keysOf, exampleOf }, issue, []);
  result.problems.push(...repeatedAgents(value), ...undecidedServers(value));
  result.warnings.push(...agentlessChannels(value));
  return result;
}

/** Adds another schema's issues in a part of `root`, in the same form; `base` is the path of that part. */
export function addIssues(
  root: object,
  issues: readonly Issue[],
  base: readonly PropertyKey[],
): { problems: string[]; warnings: string[] } {
  const result: CheckResult = { problems: [], warnings: [], ignored: [] };
  for (const issue of issues)
    takeIssue({ result, root, keysOf: () => [], exampleOf: () => "" }, issue, [...base]);
  return { problems: result.problems, warnings: result.warnings };
}

/** State of a running check. */
interface Check {
  result: CheckResult;
  root: object;
  /** Known keys of the object at a path. */
  keysOf(path: readonly PropertyKey[]): readonly string[];
  /** The value there as part of the object that is wanted: ` such as { mode: "auto" }`; empty if it fits no key. */
  exampleOf(path: readonly PropertyKey[]): string;
}

function fitsSchema(schema: zod.ZodType, root: unknown, path: readonly PropertyKey[]): boolean {
  const { error } = schema.safeParse(root, { reportInput: false });
  return !(error?.issues ?? []).some((issue) => path.every((key, index) => issue.path[index] === key));
}

/** A value that no list of words has: where it is accepted, any text is, which may be a secret. */
const ANY_TEXT = "\u0000";

function exampleAt(
  path: readonly PropertyKey[],
  { root, keys, isFine }: { root: object; keys: readonly string[]; isFine(changed: unknown): boolean },
): string {
  const value = valueAt(root, path);
  const last = path.at(-1);
  if (last === undefined || (typeof value === "object" && value !== null)) return "";
  const changed = structuredClone(root);
  const parent = valueAt(changed, path.slice(0, -1));
  if (typeof parent !== "object" || parent === null) return "";
  const accepts = (key: string, some: unknown): boolean => {
    Reflect.set(parent, last, { [key]: some });
    return isFine(changed);
  };
  const key = keys.find(
    (each) => accepts(each, value) && (typeof value !== "string" || !accepts(each, ANY_TEXT)),
  );
  if (key !== undefined) return ` such as { ${key}: ${JSON.stringify(value)} }`;
  return keys.length === 0 ? "" : ` with keys such as ${keys.slice(0, 3).join(", ")}`;
}

/** Top-level keys of other programs, with what to do. */
const FOREIGN_KEYS: Readonly<Record<string, string>> = {
  mcpServers: "Put its entries into mcp.servers.",
  mcp_servers: "Put its entries into mcp.servers.",
  servers: "Put its entries into mcp.servers.",
};

function notUsed(path: readonly PropertyKey[], known: readonly string[]): string {
  const key = String(path.at(-1));
  const foreign = path.length === 1 && Object.hasOwn(FOREIGN_KEYS, key) ? ` ${FOREIGN_KEYS[key]}` : undefined;
  const hint = foreign ?? proposal(key, known);
  return `${formatKeyPath(path)} is not a known key; it is not used.${hint}`;
}

function takeIssue(check: Check, issue: Issue, base: PropertyKey[]): void {
  const { result, root } = check;
  const path = [...base, ...issue.path];
  if (issue.code === "unrecognized_keys") {
    const known = check.keysOf(path);
    for (const key of issue.keys) result.warnings.push(notUsed([...path, key], known));
    return;
  }
  const value = valueAt(root, path);
  const aside = SET_ASIDE.find((rule) => rule.at.test(asidePath(path)) && isForeign(value));
  if (aside) {
    const dropped = path.slice(0, path.length - aside.up).filter((key) => typeof key !== "symbol");
    const allowed =
      issue.code === "invalid_value" ? ` (allowed: ${issue.values.map(String).join(", ")})` : "";
    result.warnings.push(
      `${formatKeyPath(path)} has a value that Pagurus does not know${allowed}; ${aside.why}.`,
    );
    result.ignored.push(dropped);
    return;
  }
  const inner = issue.code === "invalid_union" ? fittingBranch(issue.errors) : undefined;
  if (inner) for (const each of inner) takeIssue(check, each, path);
  else {
    const isObject = issue.code === "invalid_type" && EXPECTED[issue.expected] === EXPECTED["object"];
    const example = isObject ? check.exampleOf(path) : "";
    result.problems.push(`${formatKeyPath(path)} ${mustBe(issue)}${example}, but ${butIs(value, issue)}.`);
  }
}

/** The union branch that the value is meant for: one whose issues are inside the value. */
function fittingBranch(branches: readonly Issue[][]): Issue[] | undefined {
  return branches.find((issues) =>
    issues.every((issue) => issue.path.length > 0 || issue.code === "unrecognized_keys"),
  );
}

/** Quotes keys, so that their dots do not look like levels. */
function asidePath(path: readonly PropertyKey[]): string {
  return path.map((key) => String(key).replaceAll(".", "_")).join(".");
}

/** Whether a value is another program's word or reference, rather than a wrong number or list. */
function isForeign(value: unknown): boolean {
  return typeof value === "string" || (typeof value === "object" && value !== null && "source" in value);
}

function mustBe(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return `must be ${EXPECTED[issue.expected] ?? `of type ${issue.expected}`}`;
    case "invalid_value":
      return `must be one of ${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
    case "too_small":
      if (isCounted(issue)) return issue.minimum === 1 ? "must not be empty" : sizeProblem("at least", issue);
      return `must be ${issue.inclusive === false ? "greater than" : "at least"} ${issue.minimum}`;
    case "too_big":
      return isCounted(issue)
        ? sizeProblem("at most", issue)
        : `must be ${issue.inclusive === false ? "less than" : "at most"} ${issue.maximum}`;
    case "invalid_format":
      return mustLook(issue);
    case "invalid_union":
      return `must be ${unionChoices(issue.errors)}`;
    default:
      return "must be a valid value";
  }
}

type Sized = Extract<Issue, { code: "too_small" | "too_big" }>;

function isCounted({ origin }: Sized): boolean {
  return origin === "string" || origin === "array";
}

function sizeProblem(bound: string, issue: Sized): string {
  const number = issue.code === "too_small" ? issue.minimum : issue.maximum;
  return `must have ${bound} ${number} ${issue.origin === "string" ? "characters" : "elements"}`;
}

function mustLook(issue: Extract<Issue, { code: "invalid_format" }>): string {
  if (issue.format === "url") return "must be an http or https URL";
  if (issue.format !== "regex") return `must be of the format ${issue.format}`;
  return issue.pattern === String(AGENT_ID_PATTERN)
    ? 'must be 1 to 64 letters, digits, "-" and "_", starting with a letter or digit'
    : `must match ${issue.pattern ?? "the plugin's pattern"}`;
}

const EXPECTED: Record<string, string> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  never: "left out",
};

function unionChoices(branches: readonly Issue[][]): string {
  const choices = branches.flatMap((issues) => issues.slice(0, 1).map(mustBe));
  return choices.map((choice) => choice.replace(/^must be /, "")).join(" or ");
}

const MAY_SHOW = new Set(["invalid_value", "too_small", "too_big"]);

function butIs(value: unknown, issue: Issue): string {
  // A text of the wrong length may be a secret; one outside a list of fixed words is not.
  const showable =
    typeof value === "number"
      ? MAY_SHOW.has(issue.code)
      : issue.code === "invalid_value" && typeof value === "string";
  if (value === "") return "is empty";
  // An address can contain a password.
  if (issue.code === "invalid_format") return "is not";
  if (showable && String(value).length <= 40) return `is ${JSON.stringify(value)}`;
  return value === undefined ? "is missing" : `is ${describeValue(value)}`;
}

function describeValue(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "object") return "an object";
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return `a ${typeof value}`;
}

/** Agents with the same id, of which only one could apply. */
function repeatedAgents(root: object): string[] {
  const list = valueAt(root, ["agents", "list"]);
  if (!Array.isArray(list)) return [];
  const seen = new Map<string, number>();
  const problems: string[] = [];
  list.forEach((entry: unknown, index) => {
    const id = valueAt(entry, ["id"]);
    if (typeof id !== "string") return;
    const first = seen.get(id.toLowerCase());
    if (first === undefined) seen.set(id.toLowerCase(), index);
    else
      problems.push(`agents.list[${index}].id must differ from agents.list[${first}].id, but is the same.`);
  });
  return problems;
}

/** Channels whose agent is not configured, such as after it was removed. */
function agentlessChannels(root: object): string[] {
  const channels = valueAt(root, ["channels"]);
  if (typeof channels !== "object" || channels === null) return [];
  const list: unknown = valueAt(root, ["agents", "list"]);
  const ids = (Array.isArray(list) ? list : []).map((entry: unknown) => valueAt(entry, ["id"]));
  const known = new Set([DEFAULT_AGENT_ID, ...ids].map((id) => String(id).toLowerCase()));
  return Object.entries(channels).flatMap(([name, channel]) => {
    const agent = valueAt(channel, ["agent"]);
    if (typeof agent !== "string" || known.has(agent.toLowerCase())) return [];
    const key = formatKeyPath(["channels", name, "agent"]);
    return [`${key} names an agent that is not in agents.list; each message of the channel fails.`];
  });
}

/** MCP servers with both a program and an address, or neither. */
function undecidedServers(root: object): string[] {
  const servers = valueAt(root, ["mcp", "servers"]);
  if (typeof servers !== "object" || servers === null) return [];
  return Object.entries(servers).flatMap(([name, server]) => {
    const [command, url] = ["command", "url"].map((key) => valueAt(server, [key]) !== undefined);
    if (command !== url) return [];
    const is = command ? "has both" : "has neither";
    return [`${formatKeyPath(["mcp", "servers", name])} must have either command or url, but ${is}.`];
  });
}
