import { PagurusError } from "@pagurus/contract/errors";
import type { AgentMessage } from "@pagurus/contract/message";
import { terminalSafe } from "@pagurus/host/command/layout";
import { receiptDiffText, requestDiff } from "@pagurus/host/command/receipt-diff";
import { receiptsText, receiptText } from "@pagurus/host/command/receipt-table";
import { type Cli, printJson, printLine, sessionOf, type SessionOptions, withPagurus } from "../cli.ts";
import { messageForPerson } from "../sessions/entry-text.ts";
import { EXIT_DONE } from "../cli-failure.ts";
import { keyOf } from "../sessions/session-choice.ts";
import { workspace } from "../cli-workspace.ts";
import { defined } from "@pagurus/core/data/defined";

export interface ContextShowOptions extends SessionOptions {
  turn?: string;
  /** Number of a captured request. */
  request?: number;
  json?: boolean;
}
export interface ContextDiffOptions extends SessionOptions {
  from?: string;
  to?: string;
  json?: boolean;
}
export interface ContextPreviewOptions extends SessionOptions {
  prompt?: string;
  budget?: number;
  exact?: boolean;
  cwd?: string;
  json?: boolean;
}

/** `context show`. */
export async function contextShow(cli: Cli, options: ContextShowOptions): Promise<number> {
  const { request, turn: _turn, ...others } = options;
  if (request !== undefined)
    return (await import("../requests/requests-show.ts")).showRequest(cli, request, others);
  return withPagurus(cli, async (pagurus) => {
    const turn = options.turn === undefined ? {} : { turnId: options.turn };
    const sessionKey = keyOf(pagurus, cli, options);
    const receipts = await pagurus.context.receipts({ ...sessionOf(options), sessionKey, ...turn });
    if (options.turn !== undefined && receipts.length === 0) {
      throw new PagurusError(
        "entry_not_found",
        `No request of a turn "${options.turn}" is recorded in session "${sessionKey}"; pagurus sessions show --json names its turns.`,
      );
    }
    if (options.json === true) printJson(cli, receipts);
    else printLine(cli.stdout, receiptsText(receipts));
    return EXIT_DONE;
  });
}

/** `context diff`. */
export function contextDiff(cli: Cli, options: ContextDiffOptions): Promise<number> {
  return withPagurus(cli, async (pagurus) => {
    const names = {
      ...defined({ from: options.from, to: options.to }),
    };
    const diff = await requestDiff(
      pagurus,
      { ...sessionOf(options), sessionKey: keyOf(pagurus, cli, options) },
      names,
    );
    if (options.json === true) printJson(cli, diff);
    else printLine(cli.stdout, receiptDiffText(diff));
    return EXIT_DONE;
  });
}

function messageBlock(message: AgentMessage): string {
  const { title, text } = messageForPerson(message);
  const id = message.entryId === undefined ? "" : ` (${message.entryId})`;
  return `--- ${title}${id}\n${text}`;
}

function exactLine(options: ContextPreviewOptions, tokens: number | undefined): string[] {
  if (options.exact !== true) return [];
  if (tokens === undefined)
    return ["An exact count needs the optional package gpt-tokenizer; install it beside pagurus."];
  return [`Counted with o200k_base: ${tokens.toLocaleString("en-US")} tokens.`];
}

/** `context preview`. */
export function contextPreview(cli: Cli, options: ContextPreviewOptions): Promise<number> {
  return withPagurus(cli, async (pagurus) => {
    const preview = await pagurus.context.preview({
      ...sessionOf(options),
      prompt: options.prompt ?? "",
      cwd: workspace(cli, options.cwd, options.agent),
      ...defined({ budget: options.budget, exact: options.exact }),
    });
    if (options.json === true) {
      printJson(cli, preview);
      return EXIT_DONE;
    }
    // The next input is empty then, and would show as an empty block.
    const messages = options.prompt === undefined ? preview.messages.slice(0, -1) : preview.messages;
    const blocks = [
      `--- System\n${preview.system}`,
      ...messages.map(messageBlock),
      ...(options.prompt === undefined ? ["--- The next prompt comes here (--prompt sets one)."] : []),
      receiptText(preview.receipt),
      ...exactLine(options, preview.exactTokens),
      "Nothing was sent or stored.",
    ].join("\n\n");
    printLine(cli.stdout, cli.stdout.isTTY === true ? terminalSafe(blocks) : blocks);
    return EXIT_DONE;
  });
}
