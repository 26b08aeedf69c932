import { AGENT_OPTION, JSON_OPTION, SESSION_OPTION } from "../shared-options.ts";
import { Option, type Command } from "commander";
import type { Act, Cli } from "../cli.ts";
import { positive } from "../sessions/sessions-command.ts";
import type { ListRequestsOptions, RequestsOptions } from "./requests-work.ts";
import type { ReplayOptions } from "./requests-replay.ts";
import type { ShowRequestOptions } from "./requests-show.ts";

const EXAMPLES = `
Examples:
  $ pagurus requests list --session work
  $ pagurus requests show 12
  $ pagurus requests show 12 --part harness --raw > body.json
  $ pagurus requests diff 12
  $ pagurus requests diff 11 12
  $ pagurus requests replay 12 --text

Requests are captured within gateway.capture.maxBytes (256 MiB); this turns it off:
  $ pagurus config set gateway.capture false`;

const NUMBER = ["<number>", "number from requests list"] as const;

function addReading(requests: Command, cli: Cli, act: Act): void {
  requests
    .command("list")
    .description("list captured requests of a conversation, the newest last")
    .option(...SESSION_OPTION)
    .option(...AGENT_OPTION)
    .option("--limit <n>", "maximum number of requests (default: 20)", positive)
    .option(...JSON_OPTION)
    .action((options: ListRequestsOptions) =>
      act(async () => (await import("./requests-work.ts")).listRequests(cli, options)),
    );
  requests
    .command("show")
    .description("what was sent to the model, element by element, and the answer")
    .argument(...NUMBER, positive)
    .option(...SESSION_OPTION)
    .option(...AGENT_OPTION)
    .addOption(
      new Option("--part <part>", "what to show (default: the forwarded request)").choices([
        "harness",
        "sent",
        "answer",
        "headers",
      ]),
    )
    .option("--raw", "the exact bytes")
    .option(...JSON_OPTION)
    .action((number: number, options: ShowRequestOptions) =>
      act(async () => (await import("./requests-show.ts")).showRequest(cli, number, options)),
    );
  requests
    .command("diff")
    .description("what the gateway changed in a request, or the difference of two requests")
    .argument(...NUMBER, positive)
    .argument("[other]", "a later request: the forwarded requests are compared", positive)
    .option(...SESSION_OPTION)
    .option(...AGENT_OPTION)
    .option(...JSON_OPTION)
    .action((number: number, other: number | undefined, options: RequestsOptions) =>
      act(async () => (await import("./requests-diff.ts")).diffRequests(cli, number, other, options)),
    );
}

/** `requests …`. */
export function addRequestCommands(program: Command, cli: Cli, act: Act): void {
  const requests = program
    .command("requests")
    .description("show, compare and repeat captured model requests")
    .addHelpText("after", EXAMPLES);
  addReading(requests, cli, act);
  requests
    .command("replay")
    .description("send a captured request to the model again; the answer is printed and not stored")
    .argument(...NUMBER, positive)
    .option(...SESSION_OPTION)
    .option(...AGENT_OPTION)
    .option("-m, --model <ref>", "another model, provider/model")
    .option("--text", "print the answer's text instead of its bytes")
    .option("--json", "print the parsed answer as JSON")
    .action((number: number, options: ReplayOptions) =>
      act(async () => (await import("./requests-replay.ts")).replayRequest(cli, number, options)),
    );
  requests
    .command("clear")
    .description("delete the captured requests of a conversation")
    .option(...SESSION_OPTION)
    .option(...AGENT_OPTION)
    .option(...JSON_OPTION)
    .action((options: RequestsOptions) =>
      act(async () => (await import("./requests-work.ts")).clearRequests(cli, options)),
    );
}
