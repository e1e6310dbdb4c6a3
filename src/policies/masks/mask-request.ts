/**
 * Masks a client's request before anything else reads it: vendors, engines, logs, traces and caches see marks only. All other
 * bytes of the request stay. Pure.
 */
import { type Redacted, Result, type Schema } from "effect"
import type { Policy } from "../../protocol/catalogue/policy.ts"
import { parseBody } from "../../protocol/json/json-body.ts"
import { editJson, type JsonPath, set } from "../../protocol/json/json-edit.ts"
import { mapStrings } from "../../protocol/json/json-strings.ts"
import { textsAt } from "../../protocol/json/json-texts.ts"
import { mapJsonValues } from "../json-literals.ts"
import { compilePolicy, type ReviewPolicy } from "../policy.ts"
import { ReplyReview } from "../reply/reply-review.ts"
import type { PolicyHit } from "../review.ts"
import { KnownValues } from "./known-values.ts"
import { Marks, markKey } from "./marks.ts"
import { type RequestText, requestTexts } from "./request-texts.ts"

/** The masks for the requests of one caller. */
export interface Masking {
  readonly policies: ReadonlyArray<ReviewPolicy>
  /** The key of the organisation's marks. */
  readonly key: Uint8Array
  /** Policies whose engines gave no verdict about the request, and may fail. */
  readonly missing?: ReadonlyArray<PolicyHit>
}

/** The same for another thread. */
export interface SentMasking {
  readonly policies: ReadonlyArray<Policy>
  readonly key: Uint8Array
}

export const sentMasking = ({ policies, key }: Masking): SentMasking => ({
  policies: policies.map(({ source }) => source),
  key,
})

/** Rules need no secrets. */
export const receivedMasking = ({ policies, key }: SentMasking): Masking => ({
  policies: policies.flatMap((policy) => {
    const compiled = compilePolicy(policy, () => undefined)
    return Result.isSuccess(compiled) ? [compiled.success] : []
  }),
  key,
})

/** The marks of a request, and how often each policy has masked. */
export interface MaskedValues {
  readonly marks: Marks
  readonly hits: ReadonlyArray<PolicyHit>
}

/** The same from another thread. */
export interface SentMasked extends Pick<MaskedValues, "hits"> {
  readonly entries: ReturnType<Marks["entries"]>
}

export interface MaskedBody {
  readonly body: Uint8Array
  /** Undefined if nothing was masked. */
  readonly masked: MaskedValues | undefined
}

/** The masks for a caller's requests; undefined if there are none. @param masterKey of this gateway */
export const maskingOf = (
  { policies: { inbound }, org }: MaskedCaller,
  masterKey: Redacted.Redacted | undefined,
): Masking | undefined => {
  if (inbound.length === 0) return undefined
  const policies =
    masks.get(inbound) ?? inbound.filter(({ action, check }) => action === "mask" && check.kind === "rules")
  masks.set(inbound, policies)
  return policies.length === 0 ? undefined : { policies, key: markKey(masterKey, org.id) }
}

/** The part of a caller that masks need. */
export interface MaskedCaller {
  readonly policies: { readonly inbound: ReadonlyArray<ReviewPolicy> }
  readonly org: { readonly id: string }
}

/** A snapshot's policies are the same list for all calls of a caller. */
const masks = new WeakMap<ReadonlyArray<ReviewPolicy>, ReadonlyArray<ReviewPolicy>>()

/**
 * The body with marks; the same bytes if it has nothing to mask, or is no JSON, which its reader refuses.
 * @param marks of earlier requests of the same conversation
 */
export const maskBody = (body: Uint8Array, masking: Masking | undefined, marks?: Marks): MaskedBody => {
  const json = masking && parseBody(body)
  if (masking === undefined || json === undefined || Result.isFailure(json)) return { body, masked: undefined }
  const { changed, masked } = maskTexts(exactTexts(requestTexts(json.success), body), masking, marks)
  if (masked === undefined) return { body, masked }
  return {
    body: editJson(
      body,
      changed.map(([path, text]) => set(text, ...path)),
    ),
    masked,
  }
}

export type MaskableText = Pick<RequestText, "text" | "part">

/** The texts of a body with its marks, in which engines look for more values. Signed texts are the vendor's own. */
export const textsWithMarks = (body: Uint8Array, masking: Masking | undefined): ReadonlyArray<MaskableText> =>
  Result.match(parseBody(maskBody(body, masking).body), {
    onFailure: () => [],
    onSuccess: (json) => requestTexts(json).flatMap(({ text, part, isSigned }) => (isSigned ? [] : [{ text, part }])),
  })

/** Texts with numbers as the client wrote them: a reader of JSON keeps their first digits only. */
const exactTexts = (texts: ReadonlyArray<RequestText>, body: Uint8Array): ReadonlyArray<RequestText> => {
  const long = texts.filter(({ isNumber, text }) => isNumber === true && !Number.isSafeInteger(Number(text)))
  if (long.length === 0) return texts
  const found = textsAt(
    body,
    long.map(({ path }) => path),
  )
  const written = new Map(long.map((each, at) => [each, found[at] ?? each.text]))
  return texts.map((each) => ({ ...each, text: written.get(each) ?? each.text }))
}

/** The same for the fields of a form. */
export const maskFields = <E>(
  fields: Result.Result<Schema.JsonObject, E>,
  masking: Masking | undefined,
): { readonly fields: Result.Result<Schema.JsonObject, E>; readonly masked: MaskedValues | undefined } => {
  if (masking === undefined || Result.isFailure(fields)) return { fields, masked: undefined }
  const { changed, masked } = maskTexts(requestTexts(fields.success), masking)
  if (masked === undefined) return { fields, masked }
  const texts = new Map(changed.map(([path, text]) => [path.join("\0"), text]))
  const made = mapStrings(fields.success, (text, path) => texts.get(path.join("\0")) ?? text)
  return { fields: Result.succeed(made), masked }
}

interface MaskedTexts {
  readonly changed: ReadonlyArray<readonly [path: JsonPath, text: string]>
  readonly masked: MaskedValues | undefined
}

/** @param known marks of earlier requests of the same conversation, to which those of this one are added */
export const maskTexts = (
  texts: ReadonlyArray<RequestText>,
  { policies, key }: Masking,
  known?: Marks,
): MaskedTexts => {
  const marks = known ?? new Marks(key)
  const review = new ReplyReview({
    policies,
    restored: undefined,
    marks: () => marks,
    onDenied: () => {},
    at: "request",
  })
  const changed: Array<readonly [path: JsonPath, text: string]> = []
  const reviewed = texts.map(({ text, part, isJson, isSigned }) =>
    isSigned ? text : isJson ? review.maskedJson(text, part) : review.masked(text, part, false, false),
  )
  if (marks.isEmpty) return { changed, masked: undefined }
  const values = { long: new KnownValues(marks), all: new KnownValues(marks, 1) }
  const parts = new Set(policies.flatMap((policy) => [...policy.parts]))
  for (const [at, { path, text, part, isJson, isSigned }] of texts.entries()) {
    const once = reviewed[at] ?? text
    // A signed text came from a vendor that saw marks: values that were put back in it become marks again, and no others.
    const known = isSigned ? values.all : parts.has(part) ? values.long : undefined
    const made = known === undefined ? once : isJson ? mapJsonValues(once, known.masked) : known.masked(once)
    if (made !== text) changed.push([path, made])
  }
  return { changed, masked: { marks, hits: review.hits } }
}
