/**
 * Masks by engines: an engine finds the values in a request, and rules for these values mask them wherever they occur. An
 * engine gets the request with the marks of the other masks.
 */
import { Context, Effect, Layer, type Redacted, Result } from "effect"
import { RE2JS } from "re2js"
import { WeirConfig } from "../../config.ts"
import type { Policy } from "../../protocol/catalogue/policy.ts"
import type { ServiceError } from "../../protocol/error.ts"
import { parseBody } from "../../protocol/json/json-body.ts"
import { logNoVerdict, PolicyEngines } from "../engines/engines.ts"
import type { Span } from "../engines/spans.ts"
import { compilePolicy, type EngineCheck, type ReviewPolicy } from "../policy.ts"
import { contentBlocked, unavailable } from "../review.ts"
import { markKey } from "./marks.ts"
import { type MaskedCaller, type Masking, maskBody, maskingOf } from "./mask-request.ts"
import { requestTexts } from "./request-texts.ts"

export class RequestMasks extends Context.Service<
  RequestMasks,
  {
    /**
     * The masks for a request of a caller; undefined if there are none. Returned at once if no engine is asked.
     * @error content_blocked if an engine that must answer does not
     */
    readonly of: (
      caller: MaskedCaller,
      body: () => Uint8Array,
    ) => Effect.Effect<Masking | undefined, ServiceError<"content_blocked">>
  }
>()("weir/policies/RequestMasks") {
  static readonly layer = Layer.effect(
    RequestMasks,
    Effect.gen(function* () {
      const engines = yield* PolicyEngines
      const { masterKey } = yield* WeirConfig
      return RequestMasks.of({
        of: (caller, body) => {
          const asked = engineMasks(caller.policies.inbound)
          const masking = maskingOf(caller, masterKey)
          if (asked.length === 0) return Effect.succeed(masking)
          const texts = textsOf(maskBody(body(), masking).body)
          return Effect.map(
            Effect.forEach(asked, (policy) => foundBy(engines, policy, texts)),
            (made) => withMasks(masking, made.flat(), caller, masterKey),
          )
        },
      })
    }),
  )
}

interface EngineMask extends ReviewPolicy {
  readonly check: EngineCheck
}

const isEngineMask = (policy: ReviewPolicy): policy is EngineMask =>
  policy.action === "mask" && policy.check.kind === "engine"

const engineMasks = (inbound: ReadonlyArray<ReviewPolicy>): ReadonlyArray<EngineMask> => inbound.filter(isEngineMask)

const withMasks = (
  masking: Masking | undefined,
  made: ReadonlyArray<ReviewPolicy>,
  { org }: MaskedCaller,
  masterKey: Redacted.Redacted | undefined,
): Masking | undefined =>
  made.length === 0
    ? masking
    : { key: masking?.key ?? markKey(masterKey, org.id), policies: [...(masking?.policies ?? []), ...made] }

/** Signed texts are the vendor's own. */
const textsOf = (body: Uint8Array): ReadonlyArray<string> =>
  Result.match(parseBody(body), {
    onFailure: () => [],
    onSuccess: (json) =>
      requestTexts(json)
        .filter(({ isSigned }) => !isSigned)
        .map(({ text }) => text),
  })

const foundBy = (
  { find }: PolicyEngines["Service"],
  policy: EngineMask,
  texts: ReadonlyArray<string>,
): Effect.Effect<ReadonlyArray<ReviewPolicy>, ServiceError<"content_blocked">> => {
  const text = texts.join("\n")
  return find(policy, { text, direction: "inbound" }).pipe(
    Effect.map((spans) => masksOf(policy, text, spans)),
    Effect.catch((failure) =>
      Effect.andThen(
        logNoVerdict(policy, failure),
        policy.onFailure === "allow"
          ? Effect.succeed([])
          : Effect.fail(contentBlocked({ policy: policy.id, reason: unavailable })),
      ),
    ),
  )
}

/** Values that one rule looks for: a pattern has a largest size. */
const valuesOfRule = 20

const masksOf = (
  { id, reason }: ReviewPolicy,
  text: string,
  spans: ReadonlyArray<Span>,
): ReadonlyArray<ReviewPolicy> => {
  const values = new Map<string, Set<string>>()
  for (const { start, end, label } of spans) {
    const known = values.get(label) ?? new Set()
    values.set(label, known)
    // A finding over two texts is one in each.
    for (const value of text.slice(start, end).split("\n")) if (value.trim() !== "") known.add(value)
  }
  const entities = [...values].flatMap(([name, found]) =>
    inParts([...found].toSorted((a, b) => b.length - a.length)).map((part) => ({
      name,
      regex: part.map(wordPattern).join("|"),
    })),
  )
  const source: Policy = { id, direction: "inbound", match: { entities }, reason, action: "mask" }
  const compiled = compilePolicy(source, () => undefined)
  return entities.length > 0 && Result.isSuccess(compiled) ? [compiled.success] : []
}

const inParts = (values: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> =>
  Array.from({ length: Math.ceil(values.length / valuesOfRule) }, (_, at) =>
    values.slice(at * valuesOfRule, (at + 1) * valuesOfRule),
  )

/** A value by itself, and not as a part of another word. */
const wordPattern = (value: string): string =>
  `${/^\w/.test(value) ? "\\b" : ""}${RE2JS.quote(value)}${/\w$/.test(value) ? "\\b" : ""}`
