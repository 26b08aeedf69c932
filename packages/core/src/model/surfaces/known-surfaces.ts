/** OpenAI's models of direct surfaces, without prices: they are priced by `cost` and `unitCost` of the configuration. */
import type { ModelEntryConfig } from "../../config/config-types.ts";
import type { DirectSurface } from "@pagurus/contract/model";

const IDS: Readonly<Record<string, Readonly<Record<DirectSurface, readonly string[]>>>> = {
  openai: {
    embeddings: ["text-embedding-3-small", "text-embedding-3-large", "text-embedding-ada-002"],
    images: [
      "gpt-image-2.6-sunburst",
      "gpt-image-2.6-flare",
      "gpt-image-2.5-sunburst",
      "gpt-image-2.5-flare",
      "gpt-image-2",
      "gpt-image-1.5",
      "gpt-image-1",
      "gpt-image-1-mini",
    ],
    speech: ["gpt-4o-mini-tts", "tts-1", "tts-1-hd"],
    transcription: [
      "gpt-transcribe",
      "gpt-4o-transcribe",
      "gpt-4o-mini-transcribe",
      "gpt-4o-transcribe-diarize",
      "whisper-1",
    ],
  },
};

/** The surfaces of a known model, also of a dated id; undefined for any other. */
export function knownSurfaces(provider: string, id: string): { surfaces: DirectSurface[] } | undefined {
  const undated = id.replace(/-\d{4}-\d{2}-\d{2}$/, "");
  const rows = Object.entries(IDS[provider] ?? {}) as [DirectSurface, readonly string[]][];
  const surfaces = rows.filter(([, ids]) => ids.includes(undated)).map(([surface]) => surface);
  return surfaces.length === 0 ? undefined : { surfaces };
}

/** Whether a configured model answers conversations. */
export function isConversational(provider: string, { id, surfaces }: ModelEntryConfig): boolean {
  return (surfaces ?? knownSurfaces(provider, id)?.surfaces) === undefined;
}

export function knownSurfaceIds(provider: string): string[] {
  return Object.values(IDS[provider] ?? {}).flat();
}
