/** Work, events and permission questions as one caller may use them: those of its sessions. */
import {
  beyond,
  checkAgent,
  checkPlace,
  checkScope,
  checkSession,
  mostOf,
  sees,
} from "@pagurus/core/authority/authority";
import { PagurusError } from "@pagurus/contract/errors";
import type { PermissionMode } from "@pagurus/contract/host/permission-modes";
import type { PagurusHost } from "@pagurus/contract/host/pagurus-host";
import type { PermissionAnswer } from "@pagurus/contract/host/run";
import type { Approval } from "@pagurus/inbox/approvals";
import type { EventFilter, StoredEvent } from "@pagurus/inbox/event-log";
import { workNotFound, type Accepted, type Awaitable } from "@pagurus/inbox/inbox";
import type { CommandWork, CompactionWork, NewWork, TurnWork, Work, WorkPlace } from "@pagurus/inbox/work";
import type { Caller } from "../access/caller.ts";
import type { ServerParts } from "../server-parts.ts";

/** The host's own parts, and for whom they are used. */
export interface CallerScope {
  caller: Caller;
  /** The host as the caller may use it. */
  host: PagurusHost;
  parts: Pick<ServerParts, "inbox" | "dispatcher" | "events" | "approvals">;
}

export type CallerInbox = ReturnType<typeof callerInbox>;

/** A method throws `work_not_found` for work of a session that the caller may not use, and `token_invalid` for the session itself. */
export function callerInbox({ caller, host, parts: { inbox, dispatcher } }: CallerScope) {
  const get = async (id: string): Promise<Work> => {
    const work = await inbox.get(id);
    if (sees(caller, work)) return work;
    throw workNotFound(id);
  };
  return {
    get,
    /** Work that has not ended: of a session, or of all that the caller may use. */
    async open(place?: WorkPlace): Promise<Work[]> {
      if (place) checkPlace(caller, place);
      return (await inbox.open(place)).filter((work) => sees(caller, work));
    },
    async ofSession(place: WorkPlace, limit: number): Promise<Work[]> {
      checkPlace(caller, place);
      return inbox.ofSession(place, limit);
    },
    ahead: (work: Work): Awaitable<number> => inbox.ahead(work),
    async withdraw(id: string): Promise<boolean> {
      checkScope(caller, "chat", "withdraw work");
      return dispatcher.withdraw(await get(id));
    },
    /** What is refused when it runs is refused here. Throws `token_invalid` and as `Inbox.post`. */
    async post(work: Omit<NewWork, "authority">): Promise<Accepted> {
      checkPlace(caller, work);
      checkWork(host, work);
      return dispatcher.post({ ...work, authority: caller });
    },
    async stop(id: string): Promise<void> {
      checkScope(caller, "chat", "stop work");
      await dispatcher.stopWork(await get(id));
    },
    /** Ends the turn that runs in a session, at any host; false where none does. */
    async stopTurn(place: WorkPlace): Promise<boolean> {
      checkScope(caller, "chat", "stop a turn");
      checkPlace(caller, place);
      return dispatcher.stopAnywhere(place);
    },
    running: (): Work[] => dispatcher.running.filter((work) => sees(caller, work)),
  };
}

function checkWork(
  { check }: PagurusHost,
  { kind, request, agentId, sessionKey }: Omit<NewWork, "authority">,
): void {
  if (kind === "turn") check.run({ ...(request as TurnWork), agentId, sessionKey });
  else if (kind === "command") check.command({ ...(request as CommandWork), agentId, sessionKey });
  else check.compact({ ...(request as CompactionWork), agentId, sessionKey });
}

export type CallerEvents = ReturnType<typeof callerEvents>;

export function callerEvents({ caller, parts: { events } }: CallerScope) {
  return {
    /** Throws `token_invalid` for a session that the caller may not use; events of others are left out of every list. */
    check({ agentId, sessionKey }: EventFilter): void {
      if (agentId !== undefined) checkAgent(caller, agentId);
      if (sessionKey !== undefined) checkSession(caller, sessionKey);
    },
    newest: (): Awaitable<number> => events.newest(),
    async after(seq: number, filter: EventFilter): Promise<StoredEvent[]> {
      return (await events.after(seq, filter)).filter((event) => sees(caller, event));
    },
    /** Those up to an id, which the log has already; ends there. */
    async *between(after: number, until: number, filter: EventFilter): AsyncGenerator<StoredEvent> {
      for (let seq = after; seq < until;) {
        const page = await events.after(seq, filter);
        if (page.length === 0) return;
        for (const event of page) {
          seq = event.seq;
          if (seq > until) return;
          if (sees(caller, event)) yield event;
        }
      }
    },
    async *follow(after: number, filter: EventFilter, signal: AbortSignal): AsyncGenerator<StoredEvent> {
      for await (const event of events.follow(after, filter, signal)) if (sees(caller, event)) yield event;
    },
  };
}

export type CallerApprovals = ReturnType<typeof callerApprovals>;

export function callerApprovals({ caller, host, parts: { approvals } }: CallerScope) {
  return {
    async open(): Promise<Approval[]> {
      return (await approvals.open()).filter((approval) => sees(caller, approval));
    },
    /** Throws `work_not_found`, also for a question of a session that the caller may not use, and `token_invalid`. */
    async answer(id: string, answer: PermissionAnswer): Promise<boolean> {
      checkScope(caller, "chat", "answer a permission question");
      const approval = await approvals.get(id);
      if (!sees(caller, approval))
        throw new PagurusError("work_not_found", `There is no permission question ${id}; check the id.`);
      const given = typeof answer === "string" ? answer : "deny" in answer ? "deny" : "once";
      if (given !== "deny" && given !== "unasked") checkAnswer(caller, host.mode(approval.agentId), given);
      if (
        typeof answer === "object" &&
        "content" in answer &&
        approval.question.accept &&
        !caller.mayRemember
      )
        throw beyond("raise a cost limit", "that needs a token of scope admin; answer deny");
      return approvals.answer(id, answer, caller.tokenId);
    },
  };
}

/** Who may not let a turn ask may not answer its question with yes either. */
function checkAnswer(caller: Caller, most: PermissionMode, answer: string): void {
  if (caller.mode !== "any" && mostOf(caller, "ask") !== "ask")
    throw beyond("allow a tool call", `its most permissive mode is ${most}; answer deny`);
  if (answer !== "once" && !caller.mayRemember)
    throw beyond(`answer ${answer}`, "that saves a rule, which needs a token of scope admin; answer once");
}
