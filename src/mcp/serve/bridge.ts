/**
 * Program that a harness starts as its MCP server: it copies bytes between its standard input and output and the host's
 * socket, without reading them. Plain CommonJS in one string, so that it starts as fast as Node does, from the sources and
 * from the built package alike.
 */

/** How long the last answers may take after the harness has closed its end, ms. */
const LINGER_MS = 1_000;

/** `token` is in the file, which only the user can read, and so in no argument and no environment. */
export function bridgeScript(socketPath: string, token: string): string {
  return `"use strict";
process.title = "pagurus-tools";
const socket = require("node:net").connect(${JSON.stringify(socketPath)});
socket.write(${JSON.stringify(`${token}\n`)});
socket.on("error", (error) => {
  process.exitCode = 1;
  process.stderr.write("The tools of the host cannot be reached: " + error.message + "\\n");
});
socket.on("close", () => process.exit());
process.stdout.on("error", () => process.exit());
process.stdin.on("error", () => process.exit());
process.stdin.on("end", () => setTimeout(() => process.exit(), ${LINGER_MS}).unref());
process.stdin.pipe(socket).pipe(process.stdout);
`;
}
