/**
 * The fault of a refused call: it lies with the request, the target, or the moment. The consequence (another target, a
 * cooldown, the client's error) is the same for every kind of call; see `calls/vendor/errors.ts`.
 *
 * **Details**: each dialect has a table of its vendors' machine codes. A text decides first, then a code, then the status as
 * the table reads it, then the status as HTTP means it. A client error that no table explains is the request's.
 */
import { entryOf } from "../../protocol/values/entry.ts"

/** The things that a target can lack. */
export const targetFaults = ["credential", "credit", "permission", "model", "region", "address"] as const
export type TargetFault = (typeof targetFaults)[number]

/**
 * `seal`: blocks that another account or vendor has sealed in the thread; without them the same target may take the request.
 * `request`: another target would refuse it too. `filter`: a vendor's content filter refused it; no other target is asked to
 * get around the filter. `moment`: the same call may succeed later. All others are faults of the target.
 */
export type Blame = "request" | "filter" | "moment" | "seal" | TargetFault

/** A vendor's failure, in its reply's status or inside its reply. Its text is never sent to the client. */
export interface VendorFault {
  /** The HTTP status, or the one that the failure corresponds to. */
  readonly status: number
  /** The vendor's machine code, for the log. */
  readonly code: string
  readonly blame: Blame
  /** The field of the request that the vendor names, in its own words: a name and nothing else. */
  readonly field?: string | undefined
  /** Names in its text that may be fields of the request; only returned if the client wrote them. */
  readonly mentioned?: ReadonlyArray<string>
  /** The wait that the vendor asks for. */
  readonly retryAfterMs?: number | undefined
}

export interface FaultTable {
  readonly codes: Readonly<Record<string, Blame>>
  /** Patterns of a text, if a vendor uses one code for several faults. The first that matches counts. */
  readonly texts?: ReadonlyArray<readonly [text: RegExp, blame: Blame]>
  /** Statuses that the vendor uses in a way of its own. */
  readonly statuses?: Readonly<Record<number, Blame>>
}

/** The parts of a vendor's refusal. */
export interface Said {
  readonly status: number
  /** Paths of codes, from the most exact to the least; the first that exists is the vendor's machine code. */
  readonly codes: ReadonlyArray<string | undefined>
  readonly text?: string | undefined
  readonly field?: string | undefined
  /** Other positions of a field's name. */
  readonly fields?: ReadonlyArray<string>
  readonly retryAfterMs?: number | undefined
}

/** The length of a text that is read: a vendor may send much, and patterns read it more than once. */
const readCharacters = 2000

export const isTargets = (blame: Blame): blame is TargetFault => targetFaults.some((each) => each === blame)

/** The failure that a vendor means, by its dialect's table. */
export const faultBy = (
  table: FaultTable,
  { status, codes, text = "", field, fields = [], retryAfterMs }: Said,
): VendorFault => {
  const said = codes.filter((code) => code !== undefined && code !== "")
  const read = text.slice(0, readCharacters)
  const blame = blameOf(table, status, said, read)
  const mentioned = blame === "request" ? [...fields, ...namesIn(read)].filter((name) => fieldName.test(name)) : []
  return {
    status,
    code: machineCode(said[0]),
    blame,
    ...(field !== undefined && fieldName.test(field) && { field }),
    ...(mentioned.length > 0 && { mentioned: mentioned.slice(0, mostMentioned) }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
}

/**
 * The path of a field: `tools[0].function.parameters`, `messages.0.content`; a value with other characters is text, and is
 * not returned.
 */
const fieldName = /^[A-Za-z_]\w{0,63}(?:(?:\.\w{1,64})|(?:\[\d{1,5}\])){0,12}$/

/** Names in a text: in quotes or brackets, at its beginning, before a colon, or listed at its end. */
const namesIn = (text: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(nameInText), (match) => match.slice(1).find((name) => name !== undefined) ?? "").flatMap(
    (names) => names.split(", "),
  )

const nameInText =
  /["'`[]([\w.[\]]{1,128})["'`\]]|(?:^|: )([\w.[\]]{1,128})(?=[: ])|: ([\w.[\]]{1,128}(?:, [\w.[\]]{1,128}){0,8})\.?$/g

const mostMentioned = 16

/** A code as it is logged and returned; a longer value, or one with other characters, is text, which may contain a credential. */
export const machineCode = (code: string | undefined): string =>
  code !== undefined && /^[A-Za-z0-9_.-]{1,64}$/.test(code) ? code : "unknown"

const blameOf = (
  { codes, texts = [], statuses = {} }: FaultTable,
  status: number,
  said: ReadonlyArray<string | undefined>,
  text: string,
): Blame =>
  texts.find(([pattern]) => pattern.test(text))?.[1] ??
  said.map((code) => blameOfCode(codes, code)).find((blame) => blame !== undefined) ??
  entryOf(statuses, String(status)) ??
  blameOfStatus(status)

const blameOfCode = (codes: FaultTable["codes"], code = ""): Blame | undefined =>
  entryOf(codes, code) ?? entryOf(sharedCodes, code) ?? (code.startsWith("billing_") ? "credit" : undefined)

/** Codes that many vendors have taken over from OpenAI. Source: https://platform.openai.com/docs/guides/error-codes */
const sharedCodes: Readonly<Record<string, Blame>> = {
  insufficient_quota: "credit",
  content_filter: "filter",
  content_policy_violation: "filter",
  model_not_found: "model",
}

/** The meaning of a status in HTTP: RFC 9110 section 15. Redirects are not followed: the catalogue has an old address. */
const blameOfStatus = (status: number): Blame => {
  switch (status) {
    case 401:
      return "credential"
    case 402:
      return "credit"
    case 403:
      return "permission"
    case 404:
    case 410:
      return "model"
    case 408:
    case 425:
    case 429:
      return "moment"
  }
  if (status >= 500 || status < 300) return "moment"
  return status < 400 ? "address" : "request"
}

/** A reply that is not in the dialect's format: not JSON, the wrong shape, or over the limit. */
export const malformedReply: VendorFault = { status: 502, code: "malformed_reply", blame: "moment" }

/** A reply of status 200 in which a vendor's content filter has left nothing. */
export const filteredReply: VendorFault = { status: 200, code: "content_filter", blame: "filter" }
