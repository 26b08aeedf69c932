/** Input of a login that a person starts. */
import type { HttpSettings } from "../mcp-settings.ts";

export interface LoginRequest {
  home: string;
  /** Name of the server in the configuration. */
  name: string;
  settings: HttpSettings;
  /** By a code that is entered on another device, where the authorization server offers it. */
  device?: boolean;
  /**
   * Called with the address of the login page; `paste` takes the address that a browser elsewhere ends at, false if it is not of this
   * login. `code`: the code of a login by device.
   */
  show(page: { address: URL; issuer: string; code?: string; paste?: (address: URL) => boolean }): void;
  signal: AbortSignal;
}
