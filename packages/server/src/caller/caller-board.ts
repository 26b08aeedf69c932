/** The dashboard as one caller may see it: it is about the whole host, so its caller may use all sessions and agents. */
import { checkScope, checkUnlimited } from "@pagurus/core/authority/authority";
import type { Channel, Connection, Health, Spend } from "@pagurus/api/types";
import type { Caller } from "../access/caller.ts";
import { connectedPrograms } from "../board/connected-programs.ts";
import type { ServerParts } from "../server-parts.ts";

export type CallerBoard = ReturnType<typeof callerBoard>;

/** Each method throws `token_invalid` for a caller of some sessions or agents, or of a narrower scope. */
export function callerBoard(
  caller: Caller,
  {
    approvals,
    board,
    inbox,
    opened,
    tokens,
  }: Pick<ServerParts, "approvals" | "board" | "inbox" | "opened" | "tokens">,
) {
  const check = (scope: "read" | "admin", what: string): void => {
    checkScope(caller, scope, what);
    checkUnlimited(caller, what);
  };
  return {
    async spend(days: number): Promise<Spend> {
      check("read", "see what all sessions cost");
      return board.spend(days);
    },
    async health(): Promise<Health> {
      check("read", "see the health of the host");
      const [oldest] = await inbox.open();
      if (!oldest) return board.health(undefined);
      const { agentId, sessionKey: session, postedAt } = oldest;
      const isAsking = (await approvals.open()).some(
        // A question of a subagent is one of the session that waits for it.
        (each) =>
          each.agentId === agentId &&
          (each.sessionKey === session || each.sessionKey.startsWith(`${session}/sub-`)),
      );
      return board.health({ postedAt, session, isAsking });
    },
    async connections(): Promise<Connection[]> {
      check("admin", "list connected programs");
      return connectedPrograms(opened.counts(), await tokens.list());
    },
    async channels(): Promise<Channel[]> {
      check("admin", "list channels");
      return board.channels();
    },
    async approve(code: string): Promise<{ channel: string; address: string }> {
      check("admin", "let a person speak");
      return board.approve(code);
    },
    async remove(channel: string, address: string): Promise<void> {
      check("admin", "remove a person");
      await board.remove(channel, address);
    },
  };
}
