/** One call of a tool, or another request that is passed to its server: it is sent once, and its reply is read to the result. */
import { Effect, Result } from "effect"
import type { Asked, Task } from "../../calls/kind.ts"
import type { Bill } from "../../calls/settle/bill.ts"
import type { BrokenReason } from "../../calls/settle/outcome.ts"
import { type CallFailure, operationSpan } from "../../calls/vendor/operation.ts"
import type { PreparationError, Reader, Work } from "../../calls/vendor/work.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import { malformedReply, type VendorFault } from "../../dialects/vendor/faults.ts"
import type { EncodeRefusal, SentRequest } from "../../dialects/wire.ts"
import type { Amount } from "../../money/amount.ts"
import type { Charge } from "../../money/pricing.ts"
import { textsOfJson } from "../../policies/json-texts.ts"
import type { Parts } from "../../policies/parts.ts"
import type { EditText } from "../../policies/reply/reply-blocks.ts"
import type { WarnEvent } from "../../protocol/event.ts"
import type { ResponseMessage } from "../../protocol/mcp/message.ts"
import type { Timeouts } from "../../protocol/timeout-tiers.ts"
import { recordToolCall } from "../../telemetry/metrics.ts"
import { ownAnswersAt, ServerFailed } from "../../tool-servers/ask-server.ts"
import { requestTo } from "../../tool-servers/server-request.ts"
import { isStateless } from "../../tool-servers/server-session.ts"
import type { ToolAccount } from "../../tool-servers/tool-accounts.ts"
import { mostReplyBytes } from "../../tool-servers/tool-client.ts"
import type { ToolSessions } from "../../tool-servers/tool-sessions.ts"
import { headersOfArguments } from "../../tools/header-values.ts"
import { placesOf } from "../../tools/tool-price.ts"
import type { UpstreamHead, VendorClient } from "../../upstream/client.ts"
import { ReportedUnits } from "../passed/reported-units.ts"
import { editAnswer } from "./answer-texts.ts"
import { BetweenMessages, type SentTo } from "./between-messages.ts"
import { answerOutcome, failedOutcome, isAboutSession, mayHaveRun, preparationError, withUsage } from "./tool-answer.ts"
import { type ToolOutcome, toolBill } from "./tool-bill.ts"
import { messageTo, namesTwice, resultFor } from "./tool-message.ts"
import { ToolReader } from "./tool-reader.ts"
import type { ToolReply, ToolRequest } from "./tool-request.ts"

export class ToolTask implements Task<ToolReply> {
  readonly model: string
  readonly targets: ReadonlyArray<CallTarget>
  readonly currency: string
  readonly holdAmount: Amount
  readonly holdTokens = 0
  readonly warnings: Array<WarnEvent> = []
  readonly estimate = Effect.void
  readonly opening = undefined
  readonly #call: Asked<ToolRequest, ToolReply>
  readonly #sessions: ToolSessions["Service"]
  readonly #units: ReportedUnits
  readonly #between: BetweenMessages
  #sentTo: SentTo | undefined
  /** Whether the session that it was sent with is unknown to its server. */
  #isLost = false
  #hasReopened = false
  #account: ToolAccount | undefined
  /** The refusal of the account that it was sent with. */
  #refusal: UpstreamHead | undefined
  #hasRenewed = false
  #isSent = false
  #answer: ResponseMessage | undefined
  #text = ""
  #cost: Amount = 0n

  constructor(call: Asked<ToolRequest, ToolReply>, sessions: ToolSessions["Service"]) {
    const { caller, request } = call
    const { prices } = request
    this.#call = call
    this.#sessions = sessions
    this.#between = new BetweenMessages(sessions.asking, call)
    this.#units = new ReportedUnits(prices === undefined ? new Map() : placesOf(prices))
    this.model = request.handle
    this.targets = request.entry.targets
    this.currency = prices?.currency ?? caller.org.currency
    this.holdAmount = prices?.hold ?? 0n
  }

  timeoutsOf(target: CallTarget): Timeouts {
    const { services, catalogue } = this.#call
    return services.timeoutsOf(catalogue, target)
  }

  get received(): Work["received"] {
    return { outputBytes: this.#text.length, isAnswered: this.#answer !== undefined }
  }

  /** A call that has a price, or an id under which it is repeated, is in the books before it is sent. */
  get isRecordedFirst(): boolean {
    const { request } = this.#call
    return this.holdAmount > 0n || request.meta?.requestId !== undefined
  }

  mayAskAnother(): boolean {
    return !this.#isSent || this.#call.request.entry.server.isReadOnly === true
  }

  /** Notices when the request leaves, and notifies a server with sessions when nobody waits any longer. */
  clientOf(_client: VendorClient["Service"]): VendorClient["Service"] {
    const { client } = this.#sessions.asking
    return {
      start: (request, listener) => {
        const call = client.start(request, {
          connected: () => {
            this.#isSent = true
            listener.connected()
          },
          head: (head) => listener.head(head),
          bytes: (bytes) => listener.bytes(bytes),
          ended: () => listener.ended(),
          broken: (error) => listener.broken(error),
        })
        return {
          pause: () => call.pause(),
          resume: () => call.resume(),
          leave: () => call.leave(),
          abort: () => {
            call.abort()
            this.#cancel()
          },
        }
      },
    }
  }

  prepare(target: CallTarget): Effect.Effect<void, PreparationError> {
    const { entry, owner } = this.#call.request
    const account = this.#account
    const lost = this.#isLost && account !== undefined ? this.#sessions.lost(target, owner, account) : Effect.void
    this.#isLost = false
    const renewed = this.#renewed()
    const opened = Effect.andThen(lost, Effect.andThen(renewed, this.#sessions.open(entry, target, owner)))
    return Effect.mapError(
      Effect.map(opened, ({ at, session, account }) => {
        this.#sentTo = { at, session, answers: ownAnswersAt(this.#sessions.asking, at, session) }
        this.#account = account
        this.#isSent = false
        this.#answer = undefined
      }),
      preparationError,
    )
  }

  /** A new account in the place of one that the server has refused. */
  #renewed(): Effect.Effect<void, ServerFailed> {
    const { entry, owner } = this.#call.request
    const [refusal, account] = [this.#refusal, this.#account]
    this.#refusal = undefined
    if (refusal === undefined || account === undefined) return Effect.void
    return Effect.flatMap(this.#sessions.refused(entry, owner, account, refusal), (isNewer) =>
      isNewer ? Effect.void : Effect.fail(new ServerFailed({ reason: "refused", ...refusal })),
    )
  }

  /** Whether a status is about the account of the call. */
  #isAboutAccount(status: number): boolean {
    return this.#call.request.entry.server.oauth !== undefined && (status === 401 || status === 403)
  }

  accepts(status: number): boolean {
    const isRead = status === 400 || status === 404 || this.#isAboutAccount(status)
    const isAccepted = (status >= 200 && status < 300) || isRead
    if (!isAccepted && !mayHaveRun(status)) this.#isSent = false
    return isAccepted
  }

  encode(target: CallTarget): Result.Result<SentRequest, EncodeRefusal> {
    const { request, requestId } = this.#call
    if (this.#sentTo === undefined) return Result.fail({ capability: "tools", message: "The server has no session" })
    const { at, session } = this.#sentTo
    const { entry, method, name, params, parameters } = request
    const headers = { ...entry.headers, ...at.account }
    return Result.succeed(
      requestTo(target.vendor.baseUrl, headers, session, {
        text: messageTo(request, session, requestId),
        method,
        ...(method !== "completion/complete" && { name }),
        headers: headersOfArguments(parameters, params["arguments"]),
      }),
    )
  }

  reader(_target: CallTarget, head: UpstreamHead): Reader {
    return new ToolReader(head, this.#call.requestId, mostReplyBytes, {
      answered: (message, text) =>
        this.#isAboutAccount(head.status) ? this.#refused(head) : this.#take(message, text, head.status),
      between: (read) => {
        if (this.#sentTo !== undefined) this.#between.take(read, this.#sentTo)
      },
      refused: () => this.#refused(head),
    })
  }

  /** The server does not know the session, or does not take the account: there is a new one, once. */
  unseal(): boolean {
    if (this.#refusal !== undefined) {
      const isFirst = !this.#hasRenewed
      this.#hasRenewed = true
      return isFirst
    }
    if (this.#hasReopened) return false
    this.#hasReopened = true
    this.#isLost = true
    return true
  }

  bill(broken: BrokenReason | undefined): Bill | undefined {
    const outcome = this.#outcome(broken)
    if (outcome === undefined) return undefined
    const { bill, cost } = toolBill(this.#call.request.prices, outcome, this.#units, broken)
    this.#cost = cost
    return bill
  }

  charge(): Charge {
    return { cost: this.#cost, cacheNetSaving: 0n }
  }

  implausible(): Record<string, unknown> | undefined {
    return this.#units.reported()
  }

  span(target: CallTarget): ReturnType<Work["span"]> {
    const { method, handle } = this.#call.request
    const attributes = {
      "mcp.method.name": method,
      ...(method === "tools/call" && { "gen_ai.tool.name": handle }),
      ...(this.#sentTo !== undefined && { "mcp.protocol.version": this.#sentTo.session.version }),
    }
    return {
      name: `${method} ${handle}`,
      options: () => operationSpan(method === "tools/call" ? "execute_tool" : method, target, attributes, () => ({})),
    }
  }

  /** It calls no model, and is not in their metrics. */
  record(_target: CallTarget, millis: number, error: CallFailure | undefined): void {
    const { services, request } = this.#call
    if (request.method !== "tools/call") return
    const { entry, handle } = request
    const outcome = error === undefined ? answerOutcome(this.#answer) : failedOutcome(error)
    recordToolCall(services.context, { server: entry.server.id, handle, outcome, millis })
  }

  stop(): "end" {
    return "end"
  }

  answered(parts: Parts): string {
    if (!parts.has("toolResults")) return ""
    const answer = this.#answer
    if (answer === undefined) return ""
    // The error of a server is a text of it too.
    return textsOfJson("result" in answer ? answer.result : answer.error).join("\n")
  }

  finish({ cost, currency }: { readonly cost: string; readonly currency: string }, edit?: EditText) {
    const answer = this.#answer
    const text = edit === undefined || answer === undefined ? this.#text : editAnswer(this.#text, answer, edit)
    const isPriced = this.#call.request.prices !== undefined
    return (balance: string): ToolReply => ({
      message: isPriced ? withUsage(text, answer, { cost, currency, balance }) : text,
      ...(answer !== undefined && "error" in answer && { errorCode: answer.error.code }),
    })
  }

  #cancel(): void {
    if (this.#isSent && this.#answer === undefined && this.#sentTo !== undefined) this.#between.cancel(this.#sentTo)
  }

  #outcome(broken: BrokenReason | undefined): ToolOutcome | undefined {
    const answer = this.#answer
    if (answer !== undefined) {
      if (!("result" in answer)) return "error"
      const { session } = this.#sentTo ?? {}
      const asks = answer.result["resultType"] === "input_required"
      if (asks && session !== undefined && isStateless(session)) return "asks"
      return answer.result["isError"] === true ? "failed" : "result"
    }
    // A node that dies has sent it, or is about to.
    return this.#isSent || broken === "gateway_lost" ? "unknown" : undefined
  }

  #take(message: ResponseMessage, text: string, status: number): VendorFault | undefined {
    const { request } = this.#call
    if (this.#sentTo?.session.sessionId !== undefined && "error" in message && isAboutSession(status, message)) {
      return this.#refused({ status: 404, headers: {} })
    }
    // Policies must read what the client reads.
    const isReviewed = this.#call.caller.policies.outbound.length > 0
    if (isReviewed && namesTwice(text)) return malformedReply
    this.#answer = message
    if (!("result" in message)) {
      this.#text = text
      return undefined
    }
    if (request.prices !== undefined && request.prices.units.size > 0)
      this.#units.json(message.result, JSON.stringify(message.result))
    this.#text = resultFor(text, message.result, request)
    return undefined
  }

  #refused(head: UpstreamHead): VendorFault {
    const { status } = head
    this.#isSent = false
    if (this.#isAboutAccount(status) && !this.#hasRenewed) {
      this.#refusal = head
      return { status, code: "account_refused", blame: "seal" }
    }
    const isSession = status === 404 && this.#sentTo?.session.sessionId !== undefined && !this.#hasReopened
    return { status, code: isSession ? "unknown_session" : "refused", blame: isSession ? "seal" : "request" }
  }
}
