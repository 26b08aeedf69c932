/** Connects the tools for images and sound of a turn with the models of its agent's configuration, within the turn's cost limits. */
import { surfaceTools } from "../../tool/surfaces/surface-tools.ts";
import type { SurfacePort } from "../../tool/surfaces/surface-port.ts";
import type { HostTool } from "../../tool/host-tool.ts";
import { formRequest, imageIn, jsonRequest, transcriptIn } from "@pagurus/core/model/surfaces/surface-forms";
import type { AgentHost } from "../agent/agent-host.ts";
import type { AskedSurface, PaidAnswer, SurfacePayer } from "./paid-surface.ts";
import { defined } from "@pagurus/core/data/defined";

const DEFAULT_VOICE = "alloy";

/** The tools that the agent's configuration has models for. `payer`: absent for a list whose tools are not called. */
export function surfaceToolsOf(
  host: Pick<AgentHost, "settings" | "config" | "env">,
  payer?: SurfacePayer,
): HostTool[] {
  const { images, speech, transcription, voice = DEFAULT_VOICE } = host.settings.surfaces;
  if (images === undefined && speech === undefined && transcription === undefined) return [];
  const { config, env } = host;
  const call: Call = async (asked, signal) =>
    (await import("./paid-surface.ts")).paidSurface({ config, env, payer }, asked, signal);
  return surfaceTools({
    ...(images === undefined ? {} : { image: imageBy(call, images) }),
    ...(speech === undefined ? {} : { speech: speechBy(call, speech, voice) }),
    ...(transcription === undefined ? {} : { transcript: transcriptBy(call, transcription) }),
  });
}

type Call = (asked: AskedSurface, signal: AbortSignal) => Promise<PaidAnswer>;

function imageBy(call: Call, ref: string): NonNullable<SurfacePort["image"]> {
  return async ({ prompt, size, format }, signal) => {
    const asked: AskedSurface = {
      ref,
      ask: { surface: "images", texts: [prompt], images: 1 },
      form: (model) =>
        jsonRequest("/images/generations", { model, prompt, n: 1, size, output_format: format }),
    };
    const { answer, model } = await call(asked, signal);
    return imageIn(answer, model);
  };
}

function speechBy(call: Call, ref: string, usual: string): NonNullable<SurfacePort["speech"]> {
  return async ({ text, voice = usual, instructions, format }, signal) => {
    const asked: AskedSurface = {
      ref,
      ask: { surface: "speech", texts: [text] },
      form: (model) =>
        jsonRequest("/audio/speech", { model, input: text, voice, instructions, response_format: format }),
    };
    return (await call(asked, signal)).answer.bytes;
  };
}

function transcriptBy(call: Call, ref: string): NonNullable<SurfacePort["transcript"]> {
  return async ({ name, bytes, language }, signal) => {
    const sound = { bytes: bytes.length, start: bytes };
    const asked: AskedSurface = {
      ref,
      ask: { surface: "transcription", texts: [], sound },
      form: (model) =>
        formRequest("/audio/transcriptions", {
          fields: { model, response_format: "json", ...defined({ language }) },
          file: { name, bytes },
        }),
    };
    const { answer, model } = await call(asked, signal);
    return transcriptIn(answer, model);
  };
}
