import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { defined } from "@pagurus/core/data/defined";

/** Default limit of all captures of a home, bytes. */
export const DEFAULT_CAPTURE_BYTES = 256 * 1024 ** 2;

export interface CaptureSettings {
  maxBytes: number;
  /** Maximum number of records of a session; absent: as many as fit the byte limit. */
  keep?: number;
}

/** Undefined if nothing is captured. Default: on, within `DEFAULT_CAPTURE_BYTES`. `asked` is the command line option. */
export function captureSettings(
  config: PagurusConfig,
  env: Readonly<Record<string, string | undefined>>,
  asked = false,
): CaptureSettings | undefined {
  const configured = config.gateway?.capture;
  const variable = env["PAGURUS_CAPTURE"];
  // The environment overrides the file, so it can also turn capturing off for a run.
  const isOn =
    asked ||
    (variable === undefined || variable === ""
      ? configured !== false
      : !/^(?:0|false|off|no)$/i.test(variable));
  if (!isOn) return undefined;
  const limits = typeof configured === "object" ? configured : {};
  return { maxBytes: limits.maxBytes ?? DEFAULT_CAPTURE_BYTES, ...defined({ keep: limits.keep }) };
}
