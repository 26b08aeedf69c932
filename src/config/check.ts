/** Checks a parsed configuration: what is wrong, what is only worth a warning, and what is set aside. */
import type * as zod from "zod";
import { formatKeyPath, valueAt } from "./key-path.ts";
import { configSchema } from "./schema.ts";

type Issue = zod.core.$ZodIssue;

export interface CheckResult {
  /** One sentence each; a configuration with one cannot be used. */
  problems: string[];
  /** One sentence each; they never refuse a run. */
  warnings: string[];
  /** Keys and list elements, in order, that are left out of the configuration in use, each with a warning. */
  ignored: (string | number)[][];
}

/**
 * Values that configurations written for OpenClaw hold rightly and that mean nothing here. They must not refuse
 * a run, so `up` steps above the value are left out: without its protocol a provider cannot be used at all.
 */
const SET_ASIDE: readonly { at: RegExp; up: number; why: string }[] = [
  { at: /^models\.providers\.[^.]+\.api$/, up: 1, why: "the provider is not used" },
  { at: /^models\.providers\.[^.]+\.apiKey$/, up: 1, why: "the provider is not used" },
  { at: /^models\.providers\.[^.]+\.models\.\d+\.input\.\d+$/, up: 0, why: "this kind is not used" },
  { at: /\.agentRuntime\.fallback$/, up: 0, why: "nothing runs in the runtime's place" },
  { at: /^logging\.level$/, up: 0, why: "the level stays info" },
];

/** Loads the schema library (70 ms). Sentences hold key paths and never a value that could be a secret. */
export function checkConfig(value: unknown): CheckResult {
  const result: CheckResult = { problems: [], warnings: [], ignored: [] };
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    result.problems.push(`The configuration must be an object, but is ${describe(value)}.`);
    return result;
  }
  const parsed = configSchema().safeParse(value, { reportInput: false });
  for (const issue of parsed.error?.issues ?? []) takeIssue(result, value, issue, []);
  result.problems.push(...repeatedAgents(value));
  return result;
}

function takeIssue(result: CheckResult, root: object, issue: Issue, base: PropertyKey[]): void {
  const path = [...base, ...issue.path];
  if (issue.code === "unrecognized_keys") {
    for (const key of issue.keys) {
      result.warnings.push(`${formatKeyPath([...path, key])} is not a known key; it is not used.`);
    }
    return;
  }
  const value = valueAt(root, path);
  const aside = SET_ASIDE.find((rule) => rule.at.test(asidePath(path)) && isForeign(value));
  if (aside) {
    const dropped = path.slice(0, path.length - aside.up).filter((key) => typeof key !== "symbol");
    result.warnings.push(`${formatKeyPath(path)} has a value that Pagurus does not know; ${aside.why}.`);
    result.ignored.push(dropped);
    return;
  }
  const inner = issue.code === "invalid_union" ? fittingBranch(issue.errors) : undefined;
  if (inner) for (const each of inner) takeIssue(result, root, each, path);
  else result.problems.push(`${formatKeyPath(path)} ${mustBe(issue)}, but ${butIs(value, issue)}.`);
}

/** The branch of a union that the value is meant for: one whose issues lie inside of the value. */
function fittingBranch(branches: readonly Issue[][]): Issue[] | undefined {
  return branches.find((issues) =>
    issues.every((issue) => issue.path.length > 0 || issue.code === "unrecognized_keys"),
  );
}

/** Dots in a key must not look like levels. */
function asidePath(path: readonly PropertyKey[]): string {
  return path.map((key) => String(key).replaceAll(".", "_")).join(".");
}

/** Another program's word or reference, as opposed to a number or a list where none can be. */
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
      return issue.origin === "string" || issue.origin === "array"
        ? "must not be empty"
        : `must be ${issue.inclusive === false ? "greater than" : "at least"} ${issue.minimum}`;
    case "too_big":
      return `must be at most ${issue.maximum}`;
    case "invalid_format":
      return issue.format === "url"
        ? "must be an http or https URL"
        : 'must be 1 to 64 letters, digits, "-" and "_", starting with a letter or digit';
    case "invalid_union":
      return `must be ${unionChoices(issue.errors)}`;
    default:
      return "must be a valid value";
  }
}

const EXPECTED: Record<string, string> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

function unionChoices(branches: readonly Issue[][]): string {
  const choices = branches.flatMap((issues) => issues.slice(0, 1).map(mustBe));
  return choices.map((choice) => choice.replace(/^must be /, "")).join(" or ");
}

const MAY_SHOW = new Set(["invalid_value", "too_small", "too_big"]);

function butIs(value: unknown, issue: Issue): string {
  const showable = MAY_SHOW.has(issue.code) && (typeof value === "string" || typeof value === "number");
  if (value === "") return "is empty";
  // An address can hold a password.
  if (issue.code === "invalid_format") return "is not";
  if (showable && String(value).length <= 40) return `is ${JSON.stringify(value)}`;
  return value === undefined ? "is missing" : `is ${describe(value)}`;
}

function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "object") return "an object";
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return `a ${typeof value}`;
}

/** Two entries for one agent would leave open which of them holds. */
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
