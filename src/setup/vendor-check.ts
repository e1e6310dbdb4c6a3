/** Checks a vendor with one small real call, outside any exchange; Weir bills nobody. */
import { Clock, Context, Effect, Layer, Result, Stream } from "effect"
import { type EndedEarly, makeConversation } from "../calls/vendor/conversation.ts"
import { tierTimeout } from "../calls/vendor/errors.ts"
import { converse } from "../calls/vendor/failover.ts"
import { Signal } from "../calls/vendor/signal.ts"
import { makeTimeouts } from "../calls/vendor/timeouts.ts"
import type { Work } from "../calls/vendor/work.ts"
import { Catalogue } from "../catalogue/catalogue.ts"
import { type CallTarget, type CatalogueSnapshot, targetOfVendor } from "../catalogue/snapshot.ts"
import { WeirConfig } from "../config.ts"
import { CallDeadlines } from "../deadlines.ts"
import type { WholeDialect } from "../dialects/whole-dialect.ts"
import { OwnPrompt, type PromptParams } from "../kinds/chat/prompt.ts"
import type { UsageMeter } from "../kinds/chat/usage-meter.ts"
import { ChatWork } from "../kinds/chat/work.ts"
import { encodeWhole } from "../kinds/whole/whole-call.ts"
import { type WholeCall, WholeTask } from "../kinds/whole/whole-task.ts"
import { noTokens } from "../money/pricing.ts"
import { textOfReply } from "../policies/texts.ts"
import type { FieldOutcome, VendorCheckResponse } from "../protocol/control/admin.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { type ExtraName, type ExtraParams, extraNames } from "../protocol/extra-params.ts"
import type { ModelKind } from "../protocol/kinds/call-kind.ts"
import type { Timeouts } from "../protocol/timeout-tiers.ts"
import { VendorClient } from "../upstream/client.ts"
import type { TargetHealth } from "../upstream/health.ts"
import { adviceFor } from "./vendor-advice.ts"

export class VendorCheck extends Context.Service<
  VendorCheck,
  {
    /**
     * Calls a vendor of the catalogue.
     * @param model the vendor's own name of a model; one of the catalogue if absent
     * @param snapshot of a catalogue that is not applied; the one in force if absent
     */
    readonly run: (
      vendorId: string,
      model: string | undefined,
      snapshot?: CatalogueSnapshot,
      /** Whether each optional parameter is tried too. */
      withFields?: boolean,
    ) => Effect.Effect<VendorCheckResponse, ServiceError<"not_found" | "bad_request">>
  }
>()("weir/kinds/VendorCheck") {
  static readonly layer = Layer.effect(
    VendorCheck,
    Effect.gen(function* () {
      const config = yield* WeirConfig
      const catalogue = yield* Catalogue
      const client = yield* VendorClient
      const context = yield* Effect.context<never>()
      const deadlines = yield* CallDeadlines
      const timeoutsOf = makeTimeouts(config, context)

      const call = Effect.fnUntraced(function* (
        { target, kind }: Checking,
        snapshot: CatalogueSnapshot,
        extras: ExtraParams | undefined,
      ) {
        const clock = yield* Clock.Clock
        const nowMs = () => clock.currentTimeMillisUnsafe()
        const signal = new Signal<EndedEarly>()
        let firstFrameMs: number | undefined
        const beganMs = nowMs()
        const { total } = timeoutsOf(snapshot, target)
        const opening = () => {
          firstFrameMs = nowMs() - beganMs
          return ""
        }
        const chat = new ChatWork({
          prompt,
          vendorRequest: { ...question, extras },
          warnings: [],
          opening,
          maxReplyBytes: maxCheckBytes,
          maxOutputBytes: maxCheckBytes,
          replies: extras?.n ?? 1,
          context,
        })
        const { meter } = chat
        const work = kind === "chat" ? chat : wholeWork(kind, target, timeoutsOf(snapshot, target), context)
        const conversation = makeConversation({
          requestId: "",
          client,
          health: noHealth,
          context,
          work,
          targets: [target],
          triesAfterRefusal: false,
          stream: undefined,
          maxReplyBytes: maxCheckBytes,
          timeoutsOf: () => timeoutsOf(snapshot, target),
          signal,
          nowMs,
          startedAtMs: beganMs,
        })
        const look = (atMs: number): number => {
          if (beganMs + total <= atMs) signal.end(tierTimeout("total", total))
          return Math.min(beganMs + total, conversation.call?.look(atMs) ?? Number.POSITIVE_INFINITY)
        }
        const watch = deadlines.add({ look }, beganMs + total)
        const lookBy = (dueMs: number) => deadlines.lookBy(watch, dueMs)
        conversation.lookBy = lookBy
        const outcome = yield* converse(conversation).pipe(
          Effect.ensuring(Effect.sync(() => deadlines.remove(watch))),
          Effect.result,
        )
        const error = Result.isFailure(outcome) && outcome.failure._tag === "ServiceError" ? outcome.failure : undefined
        const advice = adviceFor(target.vendor, target.model, conversation.failure)
        const reply: VendorCheckResponse = {
          vendor: target.vendor.id,
          dialect: target.vendor.dialect,
          model: target.model,
          ok: error === undefined,
          millis: nowMs() - beganMs,
          ...(firstFrameMs !== undefined && { firstFrameMs }),
          text: textOfReply(meter.blocks()),
          ...(meter.stop !== undefined && { stop: meter.stop }),
          ...(meter.usage !== undefined && { usage: meter.usage }),
          ...(error !== undefined && {
            error: {
              code: error.code,
              message: error.message,
              ...(error.detail !== undefined && { detail: error.detail }),
              ...(advice !== undefined && { advice }),
            },
          }),
        }
        return { reply, meter }
      })

      const tryField = (checking: Checking, snapshot: CatalogueSnapshot) =>
        Effect.fnUntraced(function* (name: ExtraName) {
          const extras = { [name]: tried[name] }
          const { reply, meter } = yield* call(checking, snapshot, extras)
          return { name, ...outcomeOf(name, reply, meter) }
        })

      const run = Effect.fn("VendorCheck.run")(function* (
        vendorId: string,
        model: string | undefined,
        snapshot: CatalogueSnapshot = catalogue.current(),
        withFields = false,
      ) {
        const checking = yield* targetOf(snapshot, vendorId, model)
        const { reply } = yield* call(checking, snapshot, undefined)
        // A vendor that does not answer at all would refuse everything.
        if (!withFields || !reply.ok || checking.kind !== "chat") return reply
        return { ...reply, fields: yield* Effect.forEach(extraNames, tryField(checking, snapshot)) }
      })
      return VendorCheck.of({ run })
    }),
  )
}

/** A check neither uses nor changes the health of its target. */
const noHealth: TargetHealth["Service"] = {
  coolingDown: () => undefined,
  isSuspect: () => false,
  failed: () => Effect.void,
  begin: (_target, call) => call,
  coolDown: () => Effect.void,
  inForce: () => {},
  turns: Stream.empty,
}

/** Small, but long enough for a model that reasons first. */
const prompt = new OwnPrompt({ thread: [{ role: "user", blocks: [{ t: "text", v: "Reply with one word: ready" }] }] })
const question: Omit<PromptParams, "model"> = {
  maxTokens: 512,
  stop: [],
  canReason: false,
  cache: { enabled: false, skipWrite: true },
  stream: true,
}
const maxCheckBytes = 1024 * 1024

interface Checking {
  readonly target: CallTarget
  readonly kind: Checked
}

/** The request that tries a parameter: the least that a vendor that supports it can show. */
const tried: Required<Omit<ExtraParams, "vendorOptions">> = {
  seed: 7,
  frequencyPenalty: 0.1,
  presencePenalty: 0.1,
  topK: 40,
  minP: 0.01,
  logprobs: 1,
  logitBias: { "0": -1 },
  verbosity: "low",
  serviceTier: "flex",
  prediction: "ready",
  stopTokens: [0],
  n: 2,
}

/** Whether a reply shows that a parameter was honoured; undefined if none can. */
const isShown = (name: ExtraName, meter: UsageMeter): boolean | undefined => {
  switch (name) {
    case "logprobs":
      return meter.blocks().some((block) => block.t === "text" && block.logprobs !== undefined)
    case "n":
      return meter.replies > 1
    case "serviceTier":
      return meter.tier === undefined ? undefined : meter.tier === tried.serviceTier
    default:
      return undefined
  }
}

const outcomeOf = (
  name: ExtraName,
  { ok, error }: VendorCheckResponse,
  meter: UsageMeter,
): { readonly outcome: FieldOutcome; readonly status?: number } => {
  if (ok) {
    const shown = isShown(name, meter)
    return { outcome: shown === undefined ? "accepted" : shown ? "honoured" : "ignored" }
  }
  if (error?.detail?.["capability"] === name) return { outcome: "lacking" }
  const status = error?.detail?.["upstreamStatus"]
  return { outcome: "refused", ...(typeof status === "number" && { status }) }
}

const targetOf = (
  snapshot: CatalogueSnapshot,
  vendorId: string,
  model: string | undefined,
): Effect.Effect<Checking, ServiceError<"not_found" | "bad_request">> => {
  const entry = snapshot.vendor(vendorId)
  if (entry === undefined) return Effect.fail(serviceError("not_found", "The catalogue has no such vendor"))
  const found = modelOf(snapshot, vendorId, model)
  const name = model ?? found?.name
  if (name === undefined) {
    return Effect.fail(serviceError("bad_request", "No model of the catalogue uses this vendor: set `model`"))
  }
  const target = targetOfVendor(entry, name)
  const kind = found?.kind ?? checkedKinds.find((each) => target.dialect[each] !== undefined)
  if (kind === undefined || !isChecked(kind)) {
    return Effect.fail(serviceError("bad_request", "Models for pictures and sound are not tried: make a call of one"))
  }
  return Effect.succeed({ target, kind })
}

/** A model that the catalogue has of a vendor: the named one, or the first, and of these one for chat if there is one. */
const modelOf = (
  { document }: CatalogueSnapshot,
  vendorId: string,
  named: string | undefined,
): { readonly name: string; readonly kind: ModelKind } | undefined => {
  const all = (document.models ?? []).flatMap(({ kind = "chat", targets = [] }) =>
    targets
      .filter(({ vendor, model }) => vendor === vendorId && (named === undefined || model === named))
      .map(({ model }) => ({ name: model, kind })),
  )
  return all.find(({ kind }) => kind === "chat") ?? all.find(({ kind }) => isChecked(kind)) ?? all[0]
}

/** Kinds of which a small call can be made; one of another kind would need a voice, a recording or a picture. */
type Checked = Exclude<ModelKind, "image" | "speech" | "transcription" | "video" | "realtime">
const checkedKinds: ReadonlyArray<Checked> = ["chat", "embedding", "rerank", "moderation"]
const isChecked = (kind: ModelKind): kind is Checked => checkedKinds.some((each) => each === kind)

/** One small call of another kind; its reply is only checked for its form. */
const wholeWork = (
  kind: Exclude<Checked, "chat">,
  target: CallTarget,
  timeouts: Timeouts,
  context: Context.Context<never>,
): Work =>
  new WholeTask<object, object>(
    {
      model: target.model,
      targets: [target],
      timeoutsOf: () => timeouts,
      currency: "USD",
      holdAmount: 0n,
      holdTokens: 0,
      operation: kind,
      ...checks(kind, target),
      bill: () => ({ counts: { ...noTokens, dims: {} } }),
      charge: () => ({ cost: 0n, cacheNetSaving: 0n }),
      finish: () => () => ({}),
    },
    { context },
  )

/** The request for a vendor, and the check of its answer. */
const checks = (kind: Exclude<Checked, "chat">, { dialect }: CallTarget) => {
  switch (kind) {
    case "embedding":
      return checked(kind, dialect.embedding, { input: ["ready"] })
    case "rerank":
      return checked(kind, dialect.rerank, { query: "ready", documents: ["ready", "not yet"] })
    case "moderation":
      return checked(kind, dialect.moderation, { input: ["ready"] })
  }
}

const checked = <Asked, Got extends object>(
  kind: ModelKind,
  whole: WholeDialect<Asked, Got> | undefined,
  asked: Asked,
): Pick<WholeCall<object, object>, "encode" | "decode"> => ({
  encode: (target) => encodeWhole(target, whole, kind, asked),
  decode: (_target, body, _part, headers) => whole?.decode(body, asked, headers),
})
