/** How each protocol expresses the shape of an answer, and what it cannot. */
import type { JSONObject, LanguageModelV4CallOptions, SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { ModelApi } from "../contract/model.ts";
import type { AnswerShape } from "./provider-types.ts";

/** What a protocol has no field for, in words of the error. */
const UNSUPPORTED: Readonly<Record<ModelApi, (shape: AnswerShape) => string | undefined>> = {
  "openai-completions": () => undefined,
  "openai-responses": ({ stop }) => (stop?.length ? "stop sequences" : undefined),
  "anthropic-messages": ({ responseFormat, verbosity }) => {
    if (responseFormat && !responseFormat.schema) return "a JSON answer without a schema";
    return isVerbosity(verbosity) ? "a verbosity" : undefined;
  },
  "google-generative-ai": ({ parallelToolCalls, verbosity }) => {
    if (parallelToolCalls === false) return "a limit of one call in an answer";
    return isVerbosity(verbosity) ? "a verbosity" : undefined;
  },
  offline: () => undefined,
};

function isVerbosity(verbosity: AnswerShape["verbosity"]): boolean {
  return verbosity !== undefined && verbosity !== "medium";
}

/** The part of a shape that a protocol cannot express, as words; undefined if it can express all of it. */
export function unsupportedShape(api: ModelApi, shape: AnswerShape): string | undefined {
  return UNSUPPORTED[api](shape);
}

/** Options of a call for a shape, without those of the provider. */
export function shapeOptions(
  api: ModelApi,
  { toolChoice, responseFormat, stop }: AnswerShape,
): Pick<LanguageModelV4CallOptions, "toolChoice" | "responseFormat" | "stopSequences"> {
  const { schema, name, description } = responseFormat ?? {};
  return {
    ...(toolChoice === undefined ? {} : { toolChoice: choiceOf(toolChoice) }),
    ...(responseFormat
      ? {
          responseFormat: {
            type: "json",
            ...(schema ? { schema } : {}),
            ...(name === undefined ? {} : { name }),
            ...(description === undefined ? {} : { description }),
          },
        }
      : {}),
    ...(stop?.length && api !== "openai-responses" ? { stopSequences: [...stop] } : {}),
  };
}

function choiceOf(
  choice: Exclude<AnswerShape["toolChoice"], undefined>,
): NonNullable<LanguageModelV4CallOptions["toolChoice"]> {
  return typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.name };
}

/** The provider's own options with those of a shape. */
export function withShapeOptions(
  api: ModelApi,
  own: SharedV4ProviderOptions,
  { parallelToolCalls, responseFormat, verbosity }: AnswerShape,
): SharedV4ProviderOptions {
  const isParallel = parallelToolCalls === undefined ? {} : { parallelToolCalls };
  const openai: JSONObject = {
    ...isParallel,
    ...(responseFormat ? { strictJsonSchema: responseFormat.strict === true } : {}),
    ...(verbosity === undefined ? {} : { textVerbosity: verbosity }),
  };
  const { parallelToolCalls: _parallel, ...compatible } = openai;
  const isSerial = parallelToolCalls === undefined ? {} : { parallel_tool_calls: parallelToolCalls };
  switch (api) {
    case "openai-responses":
      return merged(own, { openai });
    case "openai-completions":
      return merged(own, { openai, compatible: { ...compatible, ...isSerial } });
    case "anthropic-messages":
      return parallelToolCalls === false ? merged(own, { anthropic: { disableParallelToolUse: true } }) : own;
    default:
      return own;
  }
}

function merged(own: SharedV4ProviderOptions, more: SharedV4ProviderOptions): SharedV4ProviderOptions {
  const all = { ...own };
  for (const [name, options] of Object.entries(more))
    if (Object.keys(options).length > 0) all[name] = { ...all[name], ...options };
  return all;
}
