import {
  stepArguments,
  deltas,
  jsonFrame,
  stopOfStep,
  type Frame,
  type ReplyContext,
  type ReplyStep,
} from "./script.ts";

const PATH = /^\/v1(?:alpha|beta)?\/models\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/;

/** Model and method of a path; undefined for a path of another protocol. */
export function googlePath(path: string): { model: string; method: string } | undefined {
  const [, model, method] = PATH.exec(path) ?? [];
  return model === undefined || method === undefined ? undefined : { model, method };
}

const FINISH = { stop: "STOP", toolUse: "STOP", length: "MAX_TOKENS", refused: "SAFETY" };

/** `GenerateContentResponse` events of `streamGenerateContent?alt=sse`; the last one has finish reason and usage. */
export function google(step: ReplyStep, context: ReplyContext): Frame[] {
  const parts: Record<string, unknown>[] = [];
  const thoughts = deltas(step.thinking?.text ?? "", step);
  for (const [index, text] of thoughts.entries()) {
    const signature = index === thoughts.length - 1 ? step.thinking?.signature : undefined;
    parts.push({ text, thought: true, ...(signature ? { thoughtSignature: signature } : {}) });
  }
  for (const text of deltas(step.text ?? "", step)) parts.push({ text });
  for (const [index, call] of (step.toolCalls ?? []).entries()) {
    const args: unknown = step.rawArguments === undefined ? call.arguments : stepArguments(step, index);
    const name = call.namespace === undefined ? call.name : `${call.namespace}_${call.name}`;
    parts.push({
      functionCall: { id: call.id, name, args },
      ...(call.signature ? { thoughtSignature: call.signature } : {}),
    });
  }
  const tail = { modelVersion: context.model, responseId: `resp_${context.index}` };
  const candidate = (content: Record<string, unknown>[], extra: Record<string, unknown> = {}): unknown => ({
    candidates: [{ content: { role: "model", parts: content }, index: 0, ...extra }],
  });
  const frames = parts.map((part) => jsonFrame({ ...(candidate([part]) as object), ...tail }));
  if (step.errorEvent) {
    const { code, message } = step.errorEvent;
    return [...frames, jsonFrame({ error: { code: 500, message, status: code } })];
  }
  if (step.omitEnd) return frames;
  const { usage } = context;
  const end = candidate([{ text: "" }], { finishReason: FINISH[stopOfStep(step)] }) as object;
  frames.push(jsonFrame({ ...end, ...(usage ? { usageMetadata: usageOf(usage) } : {}), ...tail }));
  return frames;
}

/** The answer of `generateContent`: the parts of all events, and the rest of the last one. */
export function wholeGoogle(frames: readonly Frame[]): Record<string, unknown> {
  const chunks = frames.map(({ data }) => JSON.parse(data) as GoogleChunk);
  const parts = chunks.flatMap(({ candidates }) => candidates?.[0]?.content.parts ?? []);
  const last = chunks.at(-1) ?? {};
  const candidate = { ...last.candidates?.[0], content: { role: "model", parts } };
  return { ...last, candidates: [candidate] };
}

interface GoogleChunk {
  candidates?: { content: { parts: unknown[] } }[];
}

function usageOf(usage: NonNullable<ReplyContext["usage"]>): Record<string, unknown> {
  const cached = usage.cacheRead ?? 0;
  const thoughts = usage.reasoning ?? 0;
  return {
    promptTokenCount: usage.input + cached,
    cachedContentTokenCount: cached,
    candidatesTokenCount: usage.output - thoughts,
    thoughtsTokenCount: thoughts,
    totalTokenCount: usage.input + cached + usage.output,
  };
}
