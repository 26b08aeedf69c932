/** The text of a command that the user ran himself, of pi and OpenClaw: `{"role":"bashExecution","command":"ls","output":"a\nb","exitCode":0}`. */
import { filledString, type Fields } from "./record-fields.ts";

/** In the form that pi sends to the model. */
export function shellText(message: Fields): string {
  const code = message["exitCode"];
  const output = filledString(message["output"]);
  return [
    `The user ran: ${filledString(message["command"]) ?? ""}`,
    output === undefined ? "(no output)" : output,
    ...(message["cancelled"] === true ? ["(cancelled)"] : []),
    ...(typeof code === "number" && code !== 0 ? [`(exit code ${code})`] : []),
  ].join("\n");
}
