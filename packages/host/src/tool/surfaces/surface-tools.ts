/** Tools for images and sound. Each is offered only if a model is configured for it; the others cost nothing in the prompt. */
import { basename, extname } from "node:path";
import { stringArgument } from "../arguments.ts";
import { checkReplaceable, replaceFile, withFile } from "../files/file-access.ts";
import { textOutcome, type HostTool, type ToolPlan } from "../host-tool.ts";
import type { Workspace } from "../places/workspace-boundary.ts";
import { ToolError } from "../tool-error.ts";
import type { SurfacePort } from "./surface-port.ts";

/** Longest sound that providers take, bytes. */
const MOST_SOUND_BYTES = 25 * 2 ** 20;
/** Formats of images by the extension of the file; any other one is the provider's own. */
const IMAGE_FORMATS: Readonly<Record<string, string>> = { ".jpg": "jpeg", ".jpeg": "jpeg", ".webp": "webp" };
const SPEECH_FORMATS: ReadonlySet<string> = new Set(["mp3", "opus", "aac", "flac", "wav", "pcm"]);

const text = { type: "string" } as const;

/** Writes the bytes that `make` returns into the file of the argument `path`. `shown`: the question's preview. */
function fileFrom(
  params: Record<string, unknown>,
  workspace: Workspace,
  { shown, make }: { shown: string; make(signal: AbortSignal): Promise<Buffer> },
): ToolPlan {
  const at = workspace.locate(stringArgument(params, "path") ?? "");
  if (at.path === workspace.root) throw new ToolError("The path names the workspace itself, not a file.");
  return {
    access: { kind: "write", path: at, sends: true },
    preview: () => shown,
    async run({ signal }) {
      // The answer is paid for, whether it can be written or not.
      await checkReplaceable(at);
      const bytes = await make(signal);
      signal.throwIfAborted();
      const { existed } = await replaceFile(at, bytes);
      const done = existed ? "Overwrote" : "Created";
      const details = { bytes: bytes.length, created: !existed };
      return textOutcome(`${done} "${at.shown}": ${bytes.length} bytes.`, details);
    },
  };
}

function filled(params: Record<string, unknown>, name: string): string {
  const value = stringArgument(params, name) ?? "";
  if (value.trim() === "") throw new ToolError(`"${name}" is empty.`);
  return value;
}

function imageTool(image: NonNullable<SurfacePort["image"]>): HostTool {
  return {
    onlyReads: false,
    name: "generate_image",
    description: "Generate an image from a prompt into a file.",
    parameters: {
      type: "object",
      properties: { prompt: text, path: text, size: { ...text, description: "Such as 1024x1024" } },
      required: ["prompt", "path"],
      additionalProperties: false,
    },
    plan(params, workspace) {
      const prompt = filled(params, "prompt");
      const size = stringArgument(params, "size");
      const format = IMAGE_FORMATS[extname(stringArgument(params, "path") ?? "").toLowerCase()];
      return fileFrom(params, workspace, {
        shown: prompt,
        make: (signal) => image({ prompt, size, format }, signal),
      });
    },
  };
}

function speakTool(speech: NonNullable<SurfacePort["speech"]>): HostTool {
  return {
    onlyReads: false,
    name: "speak",
    description: "Speak a text into a sound file; its extension is the format (mp3, opus, aac, flac, wav).",
    parameters: {
      type: "object",
      properties: { text, path: text, voice: text, instructions: { ...text, description: "Tone, pace" } },
      required: ["text", "path"],
      additionalProperties: false,
    },
    plan(params, workspace) {
      const spoken = filled(params, "text");
      const format = extname(stringArgument(params, "path") ?? "")
        .slice(1)
        .toLowerCase();
      if (!SPEECH_FORMATS.has(format))
        throw new ToolError(`The path has to end with one of: .${[...SPEECH_FORMATS].join(", .")}.`);
      const voice = stringArgument(params, "voice");
      const instructions = stringArgument(params, "instructions");
      return fileFrom(params, workspace, {
        shown: spoken,
        make: (signal) => speech({ text: spoken, voice, instructions, format }, signal),
      });
    },
  };
}

function transcribeTool(transcript: NonNullable<SurfacePort["transcript"]>): HostTool {
  return {
    onlyReads: true,
    name: "transcribe_audio",
    description: "Get the words of a sound file as text.",
    parameters: {
      type: "object",
      properties: { path: text, language: { ...text, description: "Such as en" } },
      required: ["path"],
      additionalProperties: false,
    },
    plan(params, workspace) {
      const at = workspace.locate(stringArgument(params, "path") ?? "");
      const language = stringArgument(params, "language");
      return {
        access: { kind: "read", path: at },
        async run({ signal }) {
          const bytes = await withFile(at, async (file, size) => {
            if (size > MOST_SOUND_BYTES)
              throw new ToolError(`"${at.shown}" has ${size} bytes; ${MOST_SOUND_BYTES} is the most.`);
            const whole = Buffer.alloc(size);
            const { bytesRead } = await file.read(whole, 0, size, 0);
            return whole.subarray(0, bytesRead);
          });
          const words = await transcript({ name: basename(at.path), bytes, language }, signal);
          return textOutcome(words === "" ? "The sound has no words." : words, { bytes: bytes.length });
        },
      };
    },
  };
}

/** The tools whose member of the port is present. */
export function surfaceTools({ image, speech, transcript }: SurfacePort): HostTool[] {
  return [
    ...(image ? [imageTool(image)] : []),
    ...(speech ? [speakTool(speech)] : []),
    ...(transcript ? [transcribeTool(transcript)] : []),
  ];
}
