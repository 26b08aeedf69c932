/** One finding of the doctor. */
export interface Finding {
  level: "ok" | "info" | "warn" | "error";
  /** `node`, `config`, `home`, `store`, `programs`, `runtimes`, `models`, `engine`, `plugins`, `skills`, `channels`. */
  check: string;
  detail: string;
  /** Remedy; absent where nothing needs doing. */
  fix?: string;
  /** Place in a file; line and column are 1-based. */
  place?: { file: string; line: number; column: number };
  /** For a rewritten file: its lines before and after. */
  diff?: string[];
}
