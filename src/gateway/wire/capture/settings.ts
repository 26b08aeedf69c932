import type { PagurusConfig } from "../../../config/types.ts";

/** Bytes of all captures of a home, where nothing is configured. */
export const DEFAULT_CAPTURE_BYTES = 256 * 1024 ** 2;

export interface CaptureSettings {
  maxBytes: number;
  /** Newest requests of a session that stay; absent: as many as there is room for. */
  keep?: number;
}

/** Undefined where nothing is captured, which is the default. `asked` is the option of a command line. */
export function captureSettings(
  config: PagurusConfig,
  env: Readonly<Record<string, string | undefined>>,
  asked = false,
): CaptureSettings | undefined {
  const configured = config.gateway?.capture;
  const variable = env["PAGURUS_CAPTURE"];
  // The environment is nearer than the file, so it can also turn it off for a run.
  const isOn =
    asked ||
    (variable === undefined || variable === ""
      ? configured !== undefined && configured !== false
      : !/^(?:0|false|off|no)$/i.test(variable));
  if (!isOn) return undefined;
  const limits = typeof configured === "object" ? configured : {};
  return {
    maxBytes: limits.maxBytes ?? DEFAULT_CAPTURE_BYTES,
    ...(limits.keep === undefined ? {} : { keep: limits.keep }),
  };
}
