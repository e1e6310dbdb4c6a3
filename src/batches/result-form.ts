/** The form of results in the API of a batch's client: one line of JSON for each request. */
import { createHash } from "node:crypto"
import type { Batch, BatchApi } from "./batch.ts"
import { onOneLine } from "./line.ts"
import type { LineReply } from "./line-calls.ts"

/** The reason why a request has no answer. */
export type Unanswered = "cancelled" | "expired"

export interface ResultForm {
  /** @param id the client's name of the request */
  readonly answered: (id: string, requestId: string, reply: LineReply) => string
  readonly unanswered: (id: string, why: Unanswered) => string
  /** Whether results without success have a file of their own. */
  readonly splits: boolean
}

/** The purpose of the files with results. Clients do not see those with {@link ownPurpose}. */
export const resultsPurpose = ({ api, facts }: Pick<Batch, "api" | "facts">): string =>
  api === "anthropic" || facts.inline === true ? ownPurpose : "batch_output"
export const ownPurpose = ".results"

export const isGood = ({ status }: LineReply): boolean => status >= 200 && status < 300

/** JSON of a reply; a text, if it is none. */
const jsonIn = ({ body }: LineReply): string => {
  try {
    JSON.parse(body)
    return onOneLine(body)
  } catch {
    return JSON.stringify(body)
  }
}

/** A name for the result of a request that was not made. */
const nameOf = (id: string): string => createHash("sha256").update(id).digest("hex").slice(0, 24)

const openaiReasons = {
  expired: ["batch_expired", "This request could not be executed before the completion window expired."],
  cancelled: ["batch_cancelled", "This request was not executed, because the batch was cancelled."],
} as const

/** Source: https://platform.openai.com/docs/guides/batch */
const openai: ResultForm = {
  splits: true,
  answered: (id, requestId, reply) =>
    `{"id":"batch_${requestId}","custom_id":${JSON.stringify(id)},"response":{"status_code":${reply.status},"request_id":${JSON.stringify(requestId)},"body":${jsonIn(reply)}},"error":null}`,
  unanswered: (id, why) => {
    const [code, message] = openaiReasons[why]
    return JSON.stringify({ id: `batch_req_${nameOf(id)}`, custom_id: id, response: null, error: { code, message } })
  },
}

/** Source: https://docs.anthropic.com/en/api/retrieving-message-batch-results */
const anthropic: ResultForm = {
  splits: false,
  answered: (id, _requestId, reply) => {
    const result = isGood(reply)
      ? `{"type":"succeeded","message":${jsonIn(reply)}}`
      : `{"type":"errored","error":${jsonIn(reply)}}`
    return `{"custom_id":${JSON.stringify(id)},"result":${result}}`
  },
  unanswered: (id, why) =>
    JSON.stringify({ custom_id: id, result: { type: why === "cancelled" ? "canceled" : "expired" } }),
}

/** The code of google.rpc.Status. Source: https://ai.google.dev/gemini-api/docs/batch-api */
const cancelledCode = 1
const deadlineCode = 4

/** The name of a request is a part of its result: see {@link geminiName}. */
const gemini: ResultForm = {
  splits: false,
  answered: (id, _requestId, reply) => {
    const json = jsonIn(reply)
    if (isGood(reply)) return `{${id},"response":${json}}`
    const { error } = asError(json)
    return `{${id},"error":${JSON.stringify(error)}}`
  },
  unanswered: (id, why) =>
    `{${id},"error":${JSON.stringify(
      why === "cancelled"
        ? { code: cancelledCode, message: "The batch was cancelled." }
        : { code: deadlineCode, message: "The batch has expired." },
    )}}`,
}

/**
 * The name of a request of Gemini's API, as a member of its result: `"key":"a"` in files. In lists, where a name is not needed, its
 * place makes it one of its own, and brings the results into the order of the requests.
 */
export const geminiName = {
  inFile: (key: string): string => `"key":${JSON.stringify(key)}`,
  inList: (at: number, metadata: string | undefined): string =>
    `"at":${at}${metadata === undefined ? "" : `,"metadata":${onOneLine(metadata)}`}`,
}

/** A result of a list with the number of its request, and without it; undefined if the line is none. */
export const placedResult = (line: string): { readonly at: number; readonly text: string } | undefined => {
  const [prefix, at] = /^\{"at":(\d+),/.exec(line) ?? []
  return prefix === undefined ? undefined : { at: Number(at), text: `{${line.slice(prefix.length)}` }
}

const asError = (json: string): { readonly error: unknown } => {
  const parsed: unknown = JSON.parse(json)
  return typeof parsed === "object" && parsed !== null && "error" in parsed
    ? { error: parsed.error }
    : { error: parsed }
}

export const resultForms: Readonly<Record<BatchApi, ResultForm>> = { openai, anthropic, gemini }
