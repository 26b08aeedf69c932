/** Forms of plain values, as MCP servers ask for them: shown as lines, read from a line, completed with their defaults. */
import { asString, isRecord, recordOf, type Fields } from "./record-fields.ts";

export type FormContent = Record<string, string | number | boolean | string[]>;

interface Field {
  name: string;
  type: string;
  title: string | undefined;
  isRequired: boolean;
  fallback: unknown;
  /** Allowed values, with their titles; empty if any value is allowed. */
  choices: { value: string; title?: string | undefined }[];
  schema: Fields;
}

const MOST_FIELDS = 20;

function fieldChoices(schema: Fields): Field["choices"] {
  const { enum: values, enumNames: titles, oneOf, anyOf } = schema;
  if (Array.isArray(values))
    return values.map((value, at) => ({
      value: String(value),
      title: Array.isArray(titles) ? asString(titles[at]) : undefined,
    }));
  const titled = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : [];
  return titled
    .filter(isRecord)
    .flatMap(({ const: value, title }) =>
      typeof value === "string" || typeof value === "number"
        ? [{ value: String(value), title: asString(title) }]
        : [],
    );
}

function fieldsOf(form: Fields): Field[] {
  const required = new Set(Array.isArray(form["required"]) ? (form["required"] as unknown[]) : []);
  return Object.entries(recordOf(form["properties"])).map(([name, value]) => {
    const schema = recordOf(value);
    const type = asString(schema["type"]) ?? "string";
    return {
      name,
      type,
      title: asString(schema["title"]) ?? asString(schema["description"]),
      isRequired: required.has(name),
      fallback: schema["default"],
      choices: fieldChoices(type === "array" ? recordOf(schema["items"]) : schema),
      schema,
    };
  });
}

/** A line for each field, for example `age: a whole number, 30 if left out`. */
export function formLines(form: Fields): string[] {
  const fields = fieldsOf(form);
  const lines = fields.slice(0, MOST_FIELDS).map(({ name, title, fallback, isRequired, ...field }) => {
    const about = title === undefined || title === name ? "" : ` (${title})`;
    const else_ =
      fallback === undefined ? (isRequired ? ", required" : "") : `, ${JSON.stringify(fallback)} if left out`;
    return `${name}${about}: ${kindOf(field)}${else_}`;
  });
  return fields.length > MOST_FIELDS ? [...lines, `and ${fields.length - MOST_FIELDS} more`] : lines;
}

function kindOf({ type, choices }: Pick<Field, "type" | "choices">): string {
  const named = choices.map(({ value, title }) => (title && title !== value ? `${value} (${title})` : value));
  if (named.length > 0) return `${type === "array" ? "some of" : "one of"} ${named.join(", ")}`;
  if (type === "boolean") return "yes or no";
  if (type === "integer") return "a whole number";
  return type === "number" ? "a number" : "text";
}

/** The values with the defaults of what is left out; `problem` names the first that does not fit. */
export function formContent(
  form: Fields,
  values: Readonly<Record<string, unknown>>,
): { content: FormContent } | { problem: string } {
  const fields = fieldsOf(form);
  const content: FormContent = {};
  const foreign = Object.keys(values).find((name) => !fields.some((field) => field.name === name));
  if (foreign !== undefined) return { problem: `there is no value ${JSON.stringify(foreign)}` };
  for (const field of fields) {
    const value = values[field.name] ?? field.fallback;
    if (value === undefined) {
      if (field.isRequired) return { problem: `${field.name} is required` };
      continue;
    }
    const read = readValue(field, value);
    if (read === undefined) return { problem: `${field.name} is ${kindOf(field)}` };
    content[field.name] = read;
  }
  return { content };
}

/** Undefined for a value that the field does not take. A text is read as the field's type. */
function readValue(field: Field, value: unknown): FormContent[string] | undefined {
  const { type, choices, schema } = field;
  const isChoice = (each: string): boolean =>
    choices.length === 0 || choices.some((one) => one.value === each);
  if (type === "array") {
    const list = typeof value === "string" ? value.split(",").map((each) => each.trim()) : value;
    const texts = Array.isArray(list) ? list.filter((each) => typeof each === "string") : [];
    return Array.isArray(list) && texts.length === list.length && texts.every(isChoice) ? texts : undefined;
  }
  if (type === "boolean")
    return typeof value === "boolean" ? value : BOOLEANS.get(String(value).toLowerCase());
  if (type === "number" || type === "integer") {
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    return isNumber(number, type, schema) ? number : undefined;
  }
  const text = typeof value === "number" ? String(value) : asString(value);
  return text !== undefined && isChoice(text) ? text : undefined;
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ["yes", true],
  ["y", true],
  ["true", true],
  ["no", false],
  ["n", false],
  ["false", false],
]);

function isNumber(value: unknown, type: string, { minimum, maximum }: Fields): value is number {
  if (typeof value !== "number" || !Number.isFinite(value)) return false;
  if (type === "integer" && !Number.isInteger(value)) return false;
  return (
    !(typeof minimum === "number" && value < minimum) && !(typeof maximum === "number" && value > maximum)
  );
}

/** Reads `name=Ann, age=30`; for a form with one field also the value alone. Undefined for another text. */
export function readFormLine(form: Fields, line: string): Record<string, string> | undefined {
  const names = fieldsOf(form).map(({ name }) => name);
  const parts = line.split(/[,;]\s*(?=[\w.-]+\s*=)/);
  const pairs = parts.map((part) => /^\s*([\w.-]+)\s*=\s*(.*?)\s*$/s.exec(part));
  if (pairs.every((pair) => pair !== null && names.includes(pair[1] ?? "")))
    return Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? "", pair?.[2] ?? ""]));
  const [only, ...more] = names;
  return only !== undefined && more.length === 0 ? { [only]: line.trim() } : undefined;
}
