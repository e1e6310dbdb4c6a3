/**
 * The twin of OpenAI's responses in the background: a response is made at once, and is there after some polls.
 * Source: https://platform.openai.com/docs/guides/background
 */
import { type JsonObject, parseObject } from "../../../dialects/parse/json.ts"
import { writeJson } from "../../../protocol/json/json-text.ts"
import type { VendorCall } from "../../scripted-vendor.ts"
import { answerOf, placeOf, sendJson } from "../batch-twin.ts"
import type { TwinScript } from "../twin.ts"
import { openaiRefusal } from "./faults.ts"
import { responsesTwin } from "./responses-twin.ts"

export interface BackgroundPlan {
  /** Polls that report a response as running. */
  readonly polls: number
  readonly end: "completed" | "incomplete" | "failed" | "cancelled" | "lost"
  /** Polls that the vendor does not answer, before it does. */
  readonly failedPolls: number
  /** Whether what was cancelled reports the tokens that it used. */
  readonly tellsCancelledUsage: boolean
}

const usualPlan: BackgroundPlan = { polls: 1, end: "completed", failedPolls: 0, tellsCancelledUsage: true }

interface Running {
  readonly whole: JsonObject
  polls: number
  failedPolls: number
  isCancelled: boolean
}

export interface BackgroundTwin {
  /** Serves a request. @returns undefined if it is one of another API, or does not run in the background */
  readonly serve: (call: VendorCall) => Promise<void> | undefined
  /** Changes the plan of responses, those that run included. */
  readonly plan: (change: Partial<BackgroundPlan>) => void
  /** The ids of the responses that the vendor has. */
  readonly ids: () => ReadonlyArray<string>
  /** The number of responses that were made. */
  readonly made: () => number
  /** The ids of those that were cancelled. */
  readonly cancelled: () => ReadonlyArray<string>
}

export const makeOpenaiBackground = (script: TwinScript): BackgroundTwin => {
  const responses = new Map<string, Running>()
  const cancelled: Array<string> = []
  let plan = usualPlan
  let made = 0

  const refuse = (call: VendorCall, status: number, message: string, param: string | null = null) =>
    sendJson(call, status, openaiRefusal("responses", message, param).body)

  const create = (call: VendorCall): Promise<void> => {
    if (call.body["store"] !== true) {
      return refuse(call, 400, "Background mode requires storing the response: set 'store' to true.", "store")
    }
    if (call.body["stream"] === true)
      return refuse(call, 400, "This twin streams no response in the background.", "stream")
    const { status, body } = answerOf(responsesTwin, script, call)
    const whole = parseObject(writeJson(body)) ?? {}
    if (status !== 200) return sendJson(call, status, body)
    const id = `resp_vendor${++made}`
    responses.set(id, { whole: { ...whole, id, background: true }, polls: 0, failedPolls: 0, isCancelled: false })
    return sendJson(call, 200, { ...whole, id, background: true, status: "queued", output: [], usage: null })
  }

  const now = ({ whole, polls, isCancelled }: Running): JsonObject => {
    if (isCancelled) {
      return { ...whole, status: "cancelled", output: [], usage: plan.tellsCancelledUsage ? whole["usage"] : null }
    }
    if (polls <= plan.polls) return { ...whole, status: "in_progress", output: [], usage: null }
    switch (plan.end) {
      case "failed":
        return {
          ...whole,
          status: "failed",
          output: [],
          usage: null,
          error: { code: "server_error", message: "secret" },
        }
      case "incomplete":
        return { ...whole, status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }
      case "cancelled":
        return { ...whole, status: "cancelled", output: [], usage: null }
      default:
        return whole
    }
  }

  const serve = (call: VendorCall): Promise<void> | undefined => {
    const path = placeOf(call).pathname.replace(/^\/v1/, "")
    const [, id, verb] = /^\/responses(?:\/([^/]+))?(?:\/(cancel))?$/.exec(path) ?? []
    if (id === undefined) {
      const isCreated = path === "/responses" && call.method === "POST" && call.body["background"] === true
      return isCreated ? create(call) : undefined
    }
    const found = responses.get(id)
    if (found === undefined || (plan.end === "lost" && found.polls >= plan.polls)) {
      return refuse(call, 404, `Response with id '${id}' not found.`)
    }
    if (call.method === "DELETE") {
      responses.delete(id)
      return sendJson(call, 200, { id, object: "response", deleted: true })
    }
    if (verb === "cancel") {
      found.isCancelled ||= found.polls <= plan.polls
      cancelled.push(id)
      return sendJson(call, 200, now(found))
    }
    if (found.failedPolls < plan.failedPolls) {
      found.failedPolls++
      return refuse(call, 503, "The server is overloaded")
    }
    found.polls++
    return sendJson(call, 200, now(found))
  }

  return {
    serve,
    plan: (change) => {
      plan = { ...plan, ...change }
    },
    ids: () => [...responses.keys()],
    made: () => made,
    cancelled: () => cancelled,
  }
}
