/** What the doctor found: one line for a person. */
export interface Finding {
  level: "ok" | "info" | "warn" | "error";
  /** `node`, `config`, `home`, `store`, `programs`, `models`, `engine`, `plugins`. */
  check: string;
  detail: string;
  /** What to do; absent where nothing needs doing. */
  fix?: string;
}
