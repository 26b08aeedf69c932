/** The shape of the answer that a request asks for, in the fields of each protocol. */
import { isRecord, listOf, recordOf, recordsOf, stringOf } from "@pagurus/core/data/record-fields";
import type { AnswerShape, ResponseFormat } from "@pagurus/core/model/provider-types";
import { memberOf } from "@pagurus/core/protocols/gemini/gemini-parts";
import type { WireApi } from "../../dialect/wire-dialect.ts";

/** Returns a member of the request by its name. */
export type Member = (name: string) => unknown;

/** The client's tool choice: `name` is its own name of the tool, `allowed` the tools that it may call. */
export interface AskedChoice {
  mode?: "auto" | "required" | "none";
  name?: string;
  allowed?: readonly string[];
  /** Type of a tool that the provider runs itself, which no other has. */
  hosted?: string;
}

export interface AskedShape extends Omit<AnswerShape, "toolChoice"> {
  choice?: AskedChoice;
}

const CHOICE_MODES: Readonly<Record<string, AskedChoice["mode"]>> = {
  auto: "auto",
  none: "none",
  required: "required",
  any: "required",
};

/** A tool's name, in the flat form or in that of Chat Completions. */
function nameIn(tool: unknown): string {
  const { type, name, ...fields } = recordOf(tool);
  return stringOf(name) || stringOf(recordOf(fields[stringOf(type)])["name"]);
}

function choiceOf(value: unknown): AskedChoice | undefined {
  const type = stringOf(value) || stringOf(recordOf(value)["type"]);
  const mode = Object.hasOwn(CHOICE_MODES, type) ? CHOICE_MODES[type] : undefined;
  if (mode !== undefined) return { mode };
  if (!isRecord(value)) return undefined;
  if (type === "allowed_tools") {
    const allowed = isRecord(value["allowed_tools"]) ? value["allowed_tools"] : value;
    const inner = stringOf(allowed["mode"]);
    return {
      mode: (Object.hasOwn(CHOICE_MODES, inner) ? CHOICE_MODES[inner] : undefined) ?? "auto",
      allowed: listOf(allowed["tools"]).map(nameIn),
    };
  }
  const name = nameIn(value);
  if (name !== "") return { name };
  return type === "" ? undefined : { hosted: type };
}

/** A format with its schema in the record itself. */
function formatShape(
  value: unknown,
  schema: unknown = recordOf(value)["schema"],
): ResponseFormat | undefined {
  const { type, name, description, strict } = recordOf(value);
  if (type === "json_object") return {};
  if (type !== "json_schema" || !isRecord(schema)) return undefined;
  return {
    schema,
    ...(typeof name === "string" ? { name } : {}),
    ...(typeof description === "string" ? { description } : {}),
    ...(strict === true ? { strict } : {}),
  };
}

function stopOf(value: unknown): readonly string[] | undefined {
  const texts = (typeof value === "string" ? [value] : listOf(value)).filter(
    (text): text is string => typeof text === "string" && text !== "",
  );
  return texts.length > 0 ? texts : undefined;
}

function effortOf(value: unknown): AnswerShape["reasoningEffort"] {
  if (value === "minimal") return "minimal";
  return value === "xhigh" || value === "max" ? "xhigh" : undefined;
}

function verbosityOf(value: unknown): AnswerShape["verbosity"] {
  return value === "low" || value === "medium" || value === "high" ? value : undefined;
}

/** Without the members that are undefined. */
function present<Shape extends object>(shape: { [Name in keyof Shape]: Shape[Name] | undefined }): Shape {
  return Object.fromEntries(Object.entries(shape).filter(([, value]) => value !== undefined)) as Shape;
}

function completionsShape(member: Member): AskedShape {
  const format = recordOf(member("response_format"));
  const schema = recordOf(format["json_schema"]);
  const parallel = member("parallel_tool_calls");
  return present<AskedShape>({
    choice: choiceOf(member("tool_choice")),
    parallelToolCalls: typeof parallel === "boolean" ? parallel : undefined,
    responseFormat: formatShape({ ...schema, type: format["type"] }),
    stop: stopOf(member("stop")),
    reasoningEffort: effortOf(member("reasoning_effort")),
    verbosity: verbosityOf(member("verbosity")),
  });
}

function responsesShape(member: Member): AskedShape {
  const text = recordOf(member("text"));
  const parallel = member("parallel_tool_calls");
  return present<AskedShape>({
    choice: choiceOf(member("tool_choice")),
    parallelToolCalls: typeof parallel === "boolean" ? parallel : undefined,
    responseFormat: formatShape(text["format"]),
    stop: undefined,
    reasoningEffort: effortOf(recordOf(member("reasoning"))["effort"]),
    verbosity: verbosityOf(text["verbosity"]),
  });
}

function messagesShape(member: Member): AskedShape {
  const choice = recordOf(member("tool_choice"));
  const output = recordOf(member("output_config"));
  return present<AskedShape>({
    choice: choiceOf(member("tool_choice")),
    parallelToolCalls: choice["disable_parallel_tool_use"] === true ? false : undefined,
    responseFormat: formatShape(output["format"] ?? member("output_format")),
    stop: stopOf(member("stop_sequences")),
    reasoningEffort: effortOf(output["effort"]),
    verbosity: undefined,
  });
}

/** Google's fields are inside `generationConfig` and `toolConfig`; `readGenerateContent` reads the others of them. */
function generateContentShape(member: Member): AskedShape {
  const config = recordOf(member("generationConfig"));
  const calling = recordOf(memberOf(recordOf(member("toolConfig")), "functionCallingConfig"));
  const allowed = listOf(memberOf(calling, "allowedFunctionNames")).filter(
    (name) => typeof name === "string",
  );
  const mode = calling["mode"] === "ANY" ? "required" : calling["mode"] === "NONE" ? "none" : undefined;
  return present<AskedShape>({
    choice: mode && { mode, ...(allowed.length > 0 ? { allowed } : {}) },
    parallelToolCalls: undefined,
    responseFormat: undefined,
    stop: stopOf(memberOf(config, "stopSequences")),
    reasoningEffort: undefined,
    verbosity: undefined,
  });
}

const SHAPES: Readonly<Record<WireApi, (member: Member) => AskedShape>> = {
  "openai-completions": completionsShape,
  "openai-responses": responsesShape,
  "anthropic-messages": messagesShape,
  "google-generative-ai": generateContentShape,
};

export function askedShape(api: WireApi, member: Member): AskedShape {
  return SHAPES[api](member);
}

/** Names of the functions of a request's tools, as its client knows them. */
export function offeredNames(tools: unknown): string[] {
  return recordsOf(tools).map(nameIn);
}
