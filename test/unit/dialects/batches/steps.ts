/** Parts of tests of batches. */
import { Result } from "effect"
import type { SubmitStep, VendorBatch } from "../../../../src/dialects/batch-dialect.ts"
import type { VendorFault } from "../../../../src/dialects/vendor/faults.ts"
import type { WireRequest } from "../../../../src/dialects/wire.ts"
import type { MediaBody } from "../../../../src/media/media-file.ts"

type Request = WireRequest<string | MediaBody>

/** A wire request of JSON. */
export const wireOf = (path: string, body: object | string, headers: Record<string, string> = {}) => ({
  path,
  headers: { accept: "application/json", ...headers },
  body: typeof body === "string" ? body : JSON.stringify(body),
})

/** The text of a body, files included. */
export const bodyText = async ({ body }: Request): Promise<string> => {
  if (typeof body === "string") return body
  let text = ""
  for (const part of body) {
    if (typeof part === "string") text += part
    else if ("chunks" in part) for await (const chunk of part.chunks()) text += chunk.toString()
  }
  return text
}

export interface Reply {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body: object | string
}

/** The requests of a submission that gets these replies, and its end. */
export const followed = (
  first: SubmitStep,
  replies: ReadonlyArray<Reply>,
): {
  readonly asked: ReadonlyArray<Extract<SubmitStep, { readonly t: "ask" }>>
  readonly end: VendorBatch | VendorFault | "asks"
} => {
  const asked: Array<Extract<SubmitStep, { readonly t: "ask" }>> = []
  let step = first
  for (const { status = 200, headers = {}, body } of replies) {
    if (step.t === "made") break
    asked.push(step)
    const next = step.read({ status, headers, body: typeof body === "string" ? body : JSON.stringify(body) })
    if (Result.isFailure(next)) return { asked, end: next.failure }
    step = next.success
  }
  return { asked, end: step.t === "made" ? step.batch : "asks" }
}
