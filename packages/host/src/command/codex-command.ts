import { defined } from "@pagurus/core/data/defined";
import { oneLine } from "./layout.ts";
import { bindText, nativeStatusText, threadsText } from "./native-text.ts";
import { sessionOfThread } from "./thread-command.ts";
import { say, type CommandContext, type CommandResult, type SlashCommand } from "./command-types.ts";

const RUNTIME = "codex";
const CODEX_USAGE = "Say /codex threads, bind <thread>, resume [thread], steer <text>, stop or status.";

type Sub = (args: string, context: CommandContext) => Promise<CommandResult>;

function placeOf({ sessionKey, agentId, signal }: CommandContext): {
  sessionKey: string;
  agentId: string;
  signal?: AbortSignal;
} {
  return { sessionKey, agentId, ...defined({ signal }) };
}

const threads: Sub = async (args, context) => {
  const { agentId, signal } = placeOf(context);
  const where = args === "--all" || args === "all" ? {} : { cwd: context.cwd };
  const request = { runtime: RUNTIME, agentId, ...where, ...defined({ signal }) };
  return say(threadsText(await context.pagurus.native.threads(request), where));
};

const bind: Sub = async (args, context) => {
  const [nativeId, option, key, ...more] = args.split(/\s+/);
  const named = option === "--session" && key !== undefined ? key : undefined;
  if (!nativeId || (option !== undefined && named === undefined) || more.length > 0)
    return say(
      "Say /codex bind <thread> or /codex bind <thread> --session <key>; /codex threads lists them.",
    );
  const sessionKey = named ?? context.sessionKey;
  context.note?.("reading the thread…");
  const report = await context.pagurus.native.bind({
    ...placeOf(context),
    runtime: RUNTIME,
    nativeId,
    sessionKey,
  });
  return say(bindText(report, RUNTIME));
};

const resumeThread: Sub = async (args, context) => {
  const { pagurus, cwd } = context;
  const { agentId, signal } = placeOf(context);
  const { sessionKey, told } = await sessionOfThread(pagurus, {
    runtime: RUNTIME,
    agentId,
    cwd,
    ...(args === "" ? {} : { thread: args }),
    ...defined({ signal }),
  });
  const text = [...told, `This chat continues with the session ${sessionKey}.`].join("\n");
  return say(text, { type: "session", sessionKey });
};

const steer: Sub = async (args, context) => {
  if (args === "") return say("Add the text to send to the running turn: /codex steer <text>.");
  if (context.turn?.steer(args) !== true) {
    await context.pagurus.running.steer({ ...placeOf(context), text: args });
  }
  return say(`Sent to the running turn: "${oneLine(args, 60)}".`);
};

const stopThread: Sub = async (_args, context) => {
  if (context.turn) context.turn.abort();
  else await context.pagurus.running.stop(placeOf(context));
  return say("The running turn is being stopped.");
};

const status: Sub = async (_args, context) =>
  say(nativeStatusText(await context.pagurus.native.status({ ...placeOf(context), runtime: RUNTIME })));

const SUBS = new Map<string, Sub>(
  Object.entries({ threads, bind, resume: resumeThread, steer, stop: stopThread, status }),
);
/** Subcommands that may run during a turn. */
const AT_ONCE = /^(?:steer|stop|status|threads)(?:\s|$)/;

/** The command /codex: threads of the runtime `codex`, and its running turn. */
export const codexCommand: SlashCommand = {
  name: "codex",
  usage: "threads|bind|resume|steer|stop|status",
  summary: "Codex's own threads: list, take one over, continue one; steer or stop the running turn.",
  atOnce: (args) => AT_ONCE.test(args),
  run: (args, context) => {
    const [, name = "", rest = ""] = /^(\S*)\s*([\s\S]*)$/.exec(args) ?? [];
    return SUBS.get(name)?.(rest.trim(), context) ?? Promise.resolve(say(CODEX_USAGE));
  },
};
