/** Reads a request of the generateContent API. */
import type { AgentMessage } from "@pagurus/contract/message";
import { type Fields, isRecord, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import type { ThinkingLevel } from "@pagurus/core/model/provider-types";
import { memberOf, partsOf } from "@pagurus/core/protocols/gemini/gemini-parts";
import {
  declaredFunctions,
  recordAt,
  requestMembers,
  valueOf,
} from "../../dialect/generate-content/generate-content-fields.ts";
import type { WireRequest } from "../../dialect/wire-dialect.ts";
import { limits, readElements, type Asked } from "./asked.ts";
import { askedShape } from "./answer-shapes.ts";
import { levelOf, limitOf, wordsOf } from "./translate-fields.ts";
import { chosen, distinct, functionTool, type OfferedTool } from "./translate-tools.ts";

/** Lower bounds of the budgets for medium and high thinking, tokens. */
const MEDIUM_BUDGET = 4_096;
const HIGH_BUDGET = 16_384;

/** A schema of the API's own kind, whose types have upper-case names, as JSON schema. */
function jsonSchema(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const { nullable, type, properties, items, anyOf, ...rest } = value;
  const name = typeof type === "string" ? type.toLowerCase() : type;
  return {
    ...rest,
    ...(name === undefined ? {} : { type: nullable === true ? [name, "null"] : name }),
    ...(isRecord(properties)
      ? {
          properties: Object.fromEntries(
            Object.entries(properties).map(([key, inner]) => [key, jsonSchema(inner)]),
          ),
        }
      : {}),
    ...(items === undefined ? {} : { items: jsonSchema(items) }),
    ...(Array.isArray(anyOf) ? { anyOf: anyOf.map(jsonSchema) } : {}),
  };
}

function toolOf(tool: Fields): OfferedTool | undefined {
  const schema = memberOf(tool, "parametersJsonSchema");
  return functionTool(tool, schema ?? jsonSchema(tool["parameters"]));
}

function thinkingOf(config: Fields): ThinkingLevel | undefined {
  const thinking = recordOf(memberOf(config, "thinkingConfig"));
  const level = levelOf(stringOf(memberOf(thinking, "thinkingLevel")).toLowerCase());
  const budget = memberOf(thinking, "thinkingBudget");
  if (level !== undefined || typeof budget !== "number") return level;
  if (budget === 0) return "off";
  // -1: the model decides.
  if (budget < 0) return undefined;
  if (budget >= HIGH_BUDGET) return "high";
  return budget >= MEDIUM_BUDGET ? "medium" : "low";
}

/** Not every protocol can require an output format, so the model is asked for it. */
function formRule(config: Fields): string {
  const schema = memberOf(config, "responseJsonSchema") ?? jsonSchema(memberOf(config, "responseSchema"));
  const isJson = memberOf(config, "responseMimeType") === "application/json";
  if (schema === undefined && !isJson) return "";
  const valid = schema === undefined ? "" : ` It is valid for this JSON schema:\n${JSON.stringify(schema)}`;
  return `Answer with one JSON value and no other text.${valid}`;
}

/** Surroundings, or a summary of the harness's own with the answer that it puts after it. */
function settingMessage(element: Fields): AgentMessage {
  const text = wordsOf(partsOf(element));
  if (element["role"] !== "model") return { role: "user", content: text };
  return { role: "assistant", content: [{ type: "text", text }] };
}

/** Throws `JsonScanError`. */
export function readGenerateContent(request: WireRequest): Asked {
  const { body } = request;
  const members = requestMembers(body);
  const config = recordAt(body, members, "generationConfig");
  const { messages, historyCount } = readElements(request, {
    rule: () => undefined,
    messages: (element, item) => (item.kind === "setting" ? [settingMessage(element)] : item.messages),
  });
  const tools = distinct(declaredFunctions(valueOf(body, members, "tools")).map(toolOf));
  return {
    system: [wordsOf(partsOf(recordAt(body, members, "systemInstruction"))), formRule(config)]
      .filter(Boolean)
      .join("\n\n"),
    messages,
    historyCount,
    ...chosen(
      tools,
      askedShape("google-generative-ai", (name) => valueOf(body, members, name)),
    ),
    ...limits(limitOf(memberOf(config, "maxOutputTokens")), thinkingOf(config)),
  };
}
