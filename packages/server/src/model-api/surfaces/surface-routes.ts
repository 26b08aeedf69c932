/** Paths of the direct surfaces. In a file of its own, since the server's OpenAPI document needs them without the code that answers. */
import type { DirectSurface } from "@pagurus/contract/model";

export interface SurfaceRoute {
  surface: DirectSurface;
  /** Kinds of bodies that the provider takes. */
  bodies: readonly ("json" | "form")[];
}

/** By path after `/v1`. */
export const SURFACE_ROUTES: Readonly<Record<string, SurfaceRoute>> = {
  "/embeddings": { surface: "embeddings", bodies: ["json"] },
  "/images/generations": { surface: "images", bodies: ["json"] },
  "/images/edits": { surface: "images", bodies: ["form", "json"] },
  "/audio/speech": { surface: "speech", bodies: ["json"] },
  "/audio/transcriptions": { surface: "transcription", bodies: ["form"] },
  "/audio/translations": { surface: "transcription", bodies: ["form"] },
};
